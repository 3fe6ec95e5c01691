// SPDX-License-Identifier: MIT
// Receive queues that are kept filled while thousands of messages arrive.
#include <cstring>

#include "shared_receive_queue.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::uint32_t block_size = 64;
constexpr std::size_t block_count = 32;

/// The memory of one helper.
struct blocks_of {
  explicit blocks_of(protection_domain_ref domain) : region{domain, bytes} {}

  std::vector<std::byte> bytes = std::vector<std::byte>(block_count * block_size);
  memory_region region;

  [[nodiscard]] std::uint64_t number_in(std::uint64_t block) const {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + block * block_size, sizeof number);
    return number;
  }
};

}  // namespace

TEST_CASE("A refill keeps a queue pair filled from INIT on over five thousand messages",
          "[ibv_post_recv][ibv_poll_cq]") {
  const context device = open_device();
  const protection_domain domain{device};
  const completion_queue near_queue{device, 64};
  const completion_queue far_queue{device, 64};
  const blocks_of memory{domain};
  const auto make = [&](const completion_queue& queue) {
    auto fresh = queue_pair<transport::rc>::create(domain, {.send_cq = queue,
                                                            .recv_cq = queue,
                                                            .max_send_wr = 16,
                                                            .max_recv_wr = block_count,
                                                            .max_inline_data = 8});
    return initialised(fresh);
  };
  auto near_waiting = make(near_queue);
  auto far_waiting = make(far_queue);
  receive_refill receives{far_waiting, memory.region.blocks(block_size), {.batch = 8}};
  CHECK(receives.fill().accepted() == block_count);

  const endpoint near_endpoint = near_waiting.endpoint();
  const auto near_pair = near_waiting.connect(far_waiting.endpoint(), unhurried());
  const auto far_pair = far_waiting.connect(near_endpoint, unhurried());
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::array<completion, 16> batch;
  while (received < 5000) {
    for (unsigned burst = 0; burst < 16; ++burst, ++sent) {
      near_pair.post(send(inline_data{sent}).signaled()).check();
      next_success(near_queue);
    }
    while (received < sent) {
      for (const completion& each : far_queue.poll(batch)) {
        each.check();
        CHECK(each.success().receive().length() == sizeof(std::uint64_t));
        CHECK(receives.block(each).address() ==
              memory.region.device_address() + each.id() * block_size);
        REQUIRE(memory.number_in(each.id()) == received);
        ++received;
        receives.give_back(each).check();
      }
    }
  }
  CHECK(receives.waiting() == received % 8);
  receives.fill().check();
  CHECK(receives.waiting() == 0);
}

TEST_CASE("A refill keeps a shared receive queue of several pairs filled", "[ibv_post_srq_recv]") {
  shared_loopback<transport::rc> link{3, {.max_wr = block_count, .max_sge = 1}};
  const blocks_of memory{link.domain};
  receive_refill receives{link.shared, memory.region.blocks(block_size)};
  CHECK(receives.fill().accepted() == block_count);
  for (std::uint64_t round = 0; round < 3000; ++round) {
    std::memcpy(link.near_end.bytes.data(), &round, sizeof round);
    link.near_pairs[round % 3].post(send(link.near_end.region.slice(0, 8)).signaled()).check();
    next_success(link.near_end.queue);
    const completion each = next_success(link.far_end.queue);
    CHECK(each.queue_pair() == link.far_pairs[round % 3].number());
    REQUIRE(memory.number_in(each.id()) == round);
    receives.give_back(each).check();
  }
  std::array<completion, 1> more;
  CHECK(link.far_end.queue.poll(more).empty());
}

TEST_CASE("A refill keeps the blocks for which the queue has no room",
          "[ibv_post_srq_recv][optional]") {
  shared_loopback<transport::rc> link{1, {.max_wr = 8, .max_sge = 1}};
  const blocks_of memory{link.domain};
  if (link.shared.query().max_wr() >= block_count) {
    tell_skip("a receive queue that is too short", "it is not");
    return;
  }
  receive_refill receives{link.shared, memory.region.blocks(block_size), {.batch = 4}};
  const post_result result = receives.fill();
  CHECK(result.code() == std::errc::not_enough_memory);
  const std::size_t room = result.accepted().value_or(0);
  CHECK(room >= 8);
  CHECK(receives.waiting() == block_count - room);
  // A message makes room for one.
  for (std::uint64_t round = 0; round < block_count; ++round) {
    link.near_pairs[0].post(send(link.near_end.region.slice(0, 8)).signaled()).check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
    CHECK(receives.fill().accepted() == (round < block_count - room ? 1U : 0U));
  }
  CHECK(receives.waiting() == 0);
}
