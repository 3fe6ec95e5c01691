// SPDX-License-Identifier: MIT
// The helper that keeps a receive queue filled: what it posts and when, and that no failure loses a
// block.
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/ended_program.hpp>

#include "completed.hpp"
#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

using numbers = std::vector<std::uint64_t>;

struct refill_bench : test_bench {
  std::array<std::byte, 640> memory{};
  memory_region region{domain, memory, access_right::local_write};
  queue_pair<transport::rc, qp_state::init> pair = waiting<transport::rc>();
  buffer_blocks<mutable_buffer> blocks = region.blocks(64);  // ten

  /// The ids that were posted since the last time, a list for each doorbell. The memory of each is
  /// that of its block.
  [[nodiscard]] std::vector<numbers> posted() {
    std::vector<numbers> found;
    for (const auto& call : machine.calls<called::post_recv>()) {
      CHECK(call.pair == pair.native_handle());
      numbers ids;
      for (const auto& request : call.requests) {
        ids.push_back(request.wr.wr_id);
        REQUIRE(request.elements.size() == 1);
        CHECK(request.elements[0].addr == region.device_address() + request.wr.wr_id * 64);
        CHECK(request.elements[0].length == 64);
        CHECK(request.elements[0].lkey == static_cast<std::uint32_t>(region.lkey()));
      }
      found.push_back(ids);
    }
    machine.forget_calls();
    return found;
  }
};

completion received(std::uint64_t id) { return completion{completed(id)}; }

}  // namespace

TEST_CASE("fill posts every block once, in batches, with its number as the id", "[ibv_post_recv]") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 4}};
  CHECK(bench.posted().empty());
  CHECK(receives.waiting() == 10);
  const post_result result = receives.fill();
  CHECK(result);
  CHECK(result.accepted() == 10U);
  CHECK(bench.posted() == std::vector<numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(receives.waiting() == 0);
  CHECK(receives.fill().accepted() == 0U);
  CHECK(bench.posted().empty());
}

TEST_CASE("Returned blocks are posted when a batch is complete or by fill") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 3}};
  receives.fill().check();
  (void)bench.posted();
  CHECK(receives.block(received(7)).address() == bench.blocks[7].address());
  CHECK(receives.give_back(received(7)).accepted() == 0U);
  receives.give_back(2).check();
  CHECK(bench.posted().empty());
  CHECK(receives.waiting() == 2);
  CHECK(receives.give_back(received(5)).accepted() == 3U);
  CHECK(bench.posted() == std::vector<numbers>{{7, 2, 5}});
  receives.give_back(1).check();
  CHECK(receives.fill().accepted() == 1U);
  CHECK(bench.posted() == std::vector<numbers>{{1}});
}

TEST_CASE("The batch size is at most half of the blocks and at least one") {
  refill_bench bench;
  CHECK(receive_refill{bench.pair, bench.blocks, {.batch = 100}}.batch() == 5);
  CHECK(receive_refill{bench.pair, bench.blocks, {.batch = 0}}.batch() == 1);
  CHECK(receive_refill{bench.pair, bench.region.blocks(640)}.batch() == 1);
  receive_refill none{bench.pair, buffer_blocks<mutable_buffer>{}};
  CHECK(none.fill());
  CHECK(bench.posted().empty());
}

TEST_CASE("Blocks beyond the queue's size are posted when there is room") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 4}};
  int posts = 0;
  bench.machine.before<called::post_recv>([&] {
    if (++posts == 2) bench.machine.answer_post({.result = ENOMEM, .bad_request = 1});
  });
  post_result result = receives.fill();
  CHECK(result.code() == std::errc::not_enough_memory);
  CHECK(result.accepted().has_value());
  (void)bench.posted();
  const std::size_t left = receives.waiting();
  CHECK(left == 10 - result.accepted().value_or(0));
  result = receives.fill();
  CHECK(result.accepted() == left);
  CHECK(receives.waiting() == 0);
}

TEST_CASE("A partly refused post loses no block and posts none twice") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 3}};
  receives.fill().check();
  (void)bench.posted();
  receives.give_back(4).check();
  receives.give_back(5).check();
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 1});
  const post_result refused = receives.give_back(6);
  CHECK(refused.code() == std::errc::not_enough_memory);
  CHECK(refused.accepted() == 1U);
  CHECK(receives.waiting() == 2);
  (void)bench.posted();

  // Others are posted meanwhile; what was refused is posted by filling.
  for (const std::uint64_t each : numbers{1, 2, 3}) receives.give_back(each).check();
  CHECK(bench.posted() == std::vector<numbers>{{1, 2, 3}});
  receives.fill().check();
  CHECK(bench.posted() == std::vector<numbers>{{5, 6}});
  CHECK(receives.waiting() == 0);
}

TEST_CASE("Repeatedly refused posts lose no block") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 2}};
  receives.fill().check();
  (void)bench.posted();
  for (std::uint64_t each = 0; each < 10; ++each) {
    if (each % 2 == 1) bench.machine.answer_post({.result = ENOMEM, .bad_request = 0});
    (void)receives.give_back(each);
  }
  CHECK(receives.waiting() == 10);
  (void)bench.posted();
  CHECK(receives.fill().accepted() == 10U);
  numbers seen(10);
  for (const numbers& ids : bench.posted())
    for (const std::uint64_t each : ids) ++seen[each];
  CHECK(seen == numbers(10, 1));
}

TEST_CASE("Blocks with an unknown posting result are not posted again") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 2}};
  receives.fill().check();
  receives.give_back(4).check();
  bench.machine.answer_post({.result = EIO});
  CHECK(!receives.give_back(5).accepted().has_value());
  CHECK(receives.waiting() == 0);
}

TEST_CASE("The bytes of a message are the first bytes of its block") {
  refill_bench bench;
  const receive_refill receives{bench.pair, bench.blocks};
  ibv_wc native = completed(3);
  native.opcode = IBV_WC_RECV;
  native.byte_len = 5;
  const std::span<const std::byte> bytes = receives.bytes(completion{native});
  CHECK(bytes.data() == &bench.memory[3 * 64]);
  CHECK(bytes.size() == 5);
  const completion done{native};
  const auto same = receives.bytes(done, done.success().receive());
  CHECK((same.data() == bytes.data() && same.size() == bytes.size()));
  native.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  native.byte_len = 4096;  // the length of the memory that the peer wrote
  CHECK(receives.bytes(completion{native}).empty());
  native.opcode = IBV_WC_TM_NO_TAG;  // an opcode of a tag matching queue
  native.byte_len = 7;
  CHECK(receives.bytes(completion{native}).size() == 7);
}

TEST_CASE("The bytes of an extended completion have the length that its opcode defines") {
  refill_bench bench;
  const receive_refill receives{bench.pair, bench.blocks};
  const extended_completion_queue<> queue{bench.context, 16};
  const auto size_for = [&](ibv_wc_opcode opcode) {
    ibv_wc native = completed(3);
    native.opcode = opcode;
    native.byte_len = 5;
    bench.machine.complete(queue.native_handle(), native);
    std::size_t size = 0;
    for (const auto& done : queue.poll(1)) {
      size = receives.bytes(done).size();
      if (const auto message = done.success().receive())
        CHECK(receives.bytes(done, message).size() == size);
    }
    return size;
  };
  CHECK(size_for(IBV_WC_RECV) == 5);
  CHECK(size_for(IBV_WC_RECV_RDMA_WITH_IMM) == 0);
  CHECK(size_for(IBV_WC_TM_RECV) == 5);
  CHECK(size_for(IBV_WC_TM_NO_TAG) == 5);
}

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST
TEST_CASE("An invalid block number ends the program") {
  refill_bench bench;
  receive_refill receives{bench.pair, bench.blocks, {.batch = 2}};
  receives.fill().check();
  constexpr std::string_view words =
      "buffer_blocks::operator[]: EINVAL (Invalid argument); block 10 is out of range: the count "
      "is 10";
  CHECK(words_at_the_end([&] { (void)receives.block(received(10)); }) == words);
  CHECK(words_at_the_end([&] { (void)receives.give_back(received(10)); }) == words);
}

TEST_CASE("Reading the bytes of a failed receive ends the program") {
  refill_bench bench;
  const receive_refill receives{bench.pair, bench.blocks};
  ibv_wc native = completed(3);
  native.status = IBV_WC_WR_FLUSH_ERR;
  CHECK_THAT(words_at_the_end([&] { (void)receives.bytes(completion{native}); }),
             Catch::Matchers::StartsWith("completion::success().receive()"));
  CHECK_THAT(words_at_the_end([&] {
               const completion failed{native};
               (void)receives.bytes(failed, failed.success().receive());
             }),
             Catch::Matchers::StartsWith("completion::success().receive()"));
}
#endif

TEST_CASE("A refill fills shared receive queues and work queues and can be moved",
          "[ibv_post_srq_recv][ibv_post_wq_recv]") {
  refill_bench bench;
  const adverb::shared_receive_queue shared{bench.domain, {.max_wr = 16, .max_sge = 1}};
  receive_refill receives{shared, bench.blocks, {.batch = 5}};
  static_assert(std::is_same_v<decltype(receives), receive_refill<shared_receive_queue_ref>>);
  receives.fill().check();
  auto moved = std::move(receives);
  for (std::uint64_t each = 0; each < 5; ++each) moved.give_back(each).check();
  const auto calls = bench.machine.calls<called::post_srq_recv>();
  REQUIRE(calls.size() == 3);
  CHECK(calls[2].queue == shared.native_handle());
  CHECK(calls[2].requests.at(4).wr.wr_id == 4);

  auto fresh = work_queue<>::create(bench.domain, {.completion_queue = bench.queue, .max_wr = 8});
  const auto ready = fresh.ready();
  receive_refill on_work_queue{ready, bench.region.blocks(128)};
  CHECK(on_work_queue.fill().accepted() == 5U);
  const queue_pair_ref<transport::rc, qp_state::init> reference = bench.pair;
  receive_refill on_reference{reference, bench.blocks};
  CHECK(on_reference.fill().accepted() == 10U);
}
