// SPDX-License-Identifier: MIT
// Objects and requests up to the limits that the device reports, and one more.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "shared_receive_queue.hpp"

using namespace adverb;

namespace {

namespace device_limits {

/// Limits above this would take longer than a test may.
constexpr std::uint32_t reachable = 40'000;

/// Returns false, and reports a skip, if a limit is too high.
[[nodiscard]] bool can_reach(std::uint32_t limit, const char* test) {
  if (limit <= reachable) return true;
  tell_skip(test, "the limit is " + std::to_string(limit));
  return false;
}

}  // namespace device_limits

}  // namespace

TEST_CASE("A completion queue of the largest size holds as many completions",
          "[ibv_create_cq][optional]") {
  const context device = open_device();
  const std::uint32_t limit = device.query_device().max_completion_queue_entries();
  if (!device_limits::can_reach(limit, "a completion queue of the largest size")) return;
  const protection_domain domain{device};
  std::vector<std::byte> bytes(64);
  const memory_region region{domain, bytes, every_right};
  const completion_queue queue{device, limit};
  CHECK(queue.capacity() == limit);
  auto fresh = queue_pair<transport::rc>::create(domain, {.cq = queue, .max_send_wr = 1024});
  auto waiting = initialised(fresh);
  const endpoint itself = waiting.endpoint();
  const auto pair = waiting.connect(itself, unhurried());
  const auto request =
      write(region.remote<std::byte, access_right::remote_write>().slice(0, 0)).signaled();
  for (std::uint32_t id = 0; id < limit; ++id)
    while (!pair.post(request.id(id))) std::this_thread::yield();
  std::vector<completion> found(1024);
  std::uint64_t next = 0;
  while (next < limit) {
    next_success(queue);
    ++next;
    for (const completion& each : queue.poll(found)) {
      each.check();
      REQUIRE(each.id() == next);
      ++next;
    }
  }
}

TEST_CASE("A message scatters over as many elements as a shared receive queue allows",
          "[ibv_create_srq][ibv_post_srq_recv]") {
  const std::uint32_t limit = open_device().query_device().max_shared_receive_queue_sge();
  shared_loopback<transport::rc> link{1, {.max_wr = 4, .max_sge = limit}};
  CHECK(link.shared.query().max_sge() >= limit);
  std::vector<mutable_buffer> pieces;
  for (std::uint32_t each = 0; each < limit; ++each)
    pieces.push_back(link.far_end.region.slice(std::size_t{each} * 64, 2));
  link.shared.post(receive(std::span<const mutable_buffer>{pieces})).check();
  link.near_end.fill(0, std::size_t{2} * limit, 9);
  link.near_pairs[0]
      .post(send(link.near_end.region.const_slice(0, std::size_t{2} * limit)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 2 * limit);
  for (std::uint32_t each = 0; each < limit; ++each)
    CHECK(link.far_end.holds(std::size_t{each} * 64, 2, 9 + 14 * each));

  failure why;
  const shared_receive_queue beyond{link.domain, {.max_wr = 4, .max_sge = limit + 1}, why};
  CHECK(!beyond);
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE(
    "A multicast group takes as many pairs as the device allows, and another after one leaves",
    "[ibv_attach_mcast][ibv_detach_mcast][optional]") {
  const context device = open_device();
  const std::uint32_t limit = device.query_device().max_queue_pairs_per_multicast_group();
  if (!device_limits::can_reach(limit, "pairs of a multicast group")) return;
  const protection_domain domain{device};
  const completion_queue queue{device, 16};
  const gid group{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
  std::vector<queue_pair<transport::ud, qp_state::reset>> pairs;
  for (std::uint32_t each = 0; each <= limit; ++each)
    pairs.push_back(queue_pair<transport::ud>::create(domain, {.cq = queue}));
  std::vector<multicast_attachment> attached;
  for (std::uint32_t each = 0; each < limit; ++each) attached.emplace_back(pairs[each], group);
  failure why;
  const multicast_attachment refused{pairs[limit], group, {}, why};
  CHECK(!refused);
  CHECK(why.verb() == "ibv_attach_mcast");
  CHECK(why.code() == std::errc::not_enough_memory);
  attached[limit / 2].close();
  attached[limit / 2] = multicast_attachment{pairs[limit], group};
  CHECK(attached[limit / 2]);
}

TEST_CASE("Reads up to the limit of the device are in progress and complete in order") {
  const auto limits = open_device().query_device();
  const auto limit = static_cast<std::uint8_t>(
      std::min({limits.max_initiator_read_atomic(), limits.max_destination_read_atomic(), 255U}));
  loopback_options<transport::rc> options;
  options.pair.max_send_wr = limit;
  options.connect.max_initiator_read_atomic = limit;
  options.connect.max_destination_read_atomic = limit;
  loopback<transport::rc> link{options};
  CHECK(link.near_pair.query().max_initiator_read_atomic() == limit);
  CHECK(link.far_pair.query().max_destination_read_atomic() == limit);
  constexpr std::size_t length = 128;
  link.far_end.fill(0, length * limit, 3);
  for (std::size_t each = 0; each < limit; ++each) {
    const auto request = read(link.far_end.remote().slice(each * length, length),
                              link.near_end.region.slice(each * length, length));
    // The completion queue holds 64.
    link.near_pair.post(each % 4 == 3 ? request.id(each).signaled() : request).check();
  }
  for (std::uint64_t id = 3; id < limit; id += 4) {
    CHECK(next_success(link.near_end.queue).id() == id);
    CHECK(link.near_end.holds(0, (id + 1) * length, 3));
  }
}

TEST_CASE("A write of the longest message arrives completely", "[optional]") {
  const context device = open_device();
  const std::size_t limit = device.query_port(first_port).max_message_size();
  if (limit > mebibytes(64))
    return tell_skip("a write of the longest message", "the device takes messages above 64 MiB");
  const protection_domain domain{device};
  std::vector<std::byte> source(limit);
  std::vector<std::byte> target(limit);
  for (std::size_t each = 0; each < limit; each += 509)
    source[each] = static_cast<std::byte>(each / 509 + 1);
  const memory_region from{domain, source, every_right};
  const memory_region to{domain, target, every_right};
  const completion_queue queue{device, 16};
  auto fresh = queue_pair<transport::rc>::create(domain, {.cq = queue});
  auto waiting = initialised(fresh);
  const endpoint itself = waiting.endpoint();
  const auto pair = waiting.connect(itself, unhurried());
  pair.post(write(to.remote<std::byte, access_right::remote_write>(), from.slice(0, limit))
                .signaled())
      .check();
  next_success(queue);
  CHECK(target == source);
}
