// SPDX-License-Identifier: MIT
// Shared receive queues: traffic of several pairs, limits of what can be posted, and changes.
#include <cerrno>
#include <set>
#include <string>

#include "shared_receive_queue.hpp"

using namespace adverb;

namespace {

constexpr std::size_t block = 256;
/// The start of the payload of a datagram.
constexpr std::size_t route = 40;

}  // namespace

TEST_CASE("One shared receive queue serves several connected pairs",
          "[ibv_create_srq][ibv_destroy_srq][ibv_post_srq_recv]") {
  constexpr std::size_t pairs = 3;
  shared_loopback<transport::rc> link{pairs};
  for (std::size_t index = 0; index < pairs; ++index)
    link.shared.post(receive(link.far_end.region.slice(index * block, block)).id(index)).check();

  for (std::size_t index = 0; index < pairs; ++index) {
    link.near_end.fill(index * block, block, static_cast<unsigned>(index));
    link.near_pairs[index]
        .post(send(link.near_end.region.const_slice(index * block, block)).signaled())
        .check();
    // One after the other, so that it is known which takes which receive.
    const completion arrived = next_success(link.far_end.queue);
    CHECK(arrived.id() == index);
    CHECK(arrived.queue_pair() == link.far_pairs[index].number());
    CHECK(arrived.success().receive().length() == block);
    CHECK(link.far_end.holds(index * block, block, static_cast<unsigned>(index)));
    next_success(link.near_end.queue);
  }
}

TEST_CASE("A chain of receives is posted in its order", "[ibv_post_srq_recv]") {
  shared_loopback<transport::rc> link{2};
  const std::array<mutable_buffer, 2> halves{link.far_end.region.slice(512, 4),
                                             link.far_end.region.slice(600, 4)};
  const post_result posted =
      link.shared.post(receive(link.far_end.region.slice(0, 8)).id(1),
                       receive(link.far_end.region.slice(64, 8)).id(2),
                       receive(std::span<const mutable_buffer>{halves}).id(3));
  CHECK(posted.accepted() == 3U);
  link.near_end.fill(0, 8, 5);
  const auto request = send(link.near_end.region.const_slice(0, 8)).signaled();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    link.near_pairs[id % 2].post(request).check();
    CHECK(next_success(link.far_end.queue).id() == id);
    next_success(link.near_end.queue);
  }
  CHECK(link.far_end.holds(0, 8, 5));
  CHECK(link.far_end.holds(64, 8, 5));
  CHECK(link.far_end.holds(512, 4, 5));
  CHECK(link.far_end.holds(600, 4, 5 + 4 * 7));
}

TEST_CASE("One shared receive queue serves several datagram pairs",
          "[ibv_create_srq][ibv_post_srq_recv]") {
  shared_loopback<transport::ud> link{2};
  const address_handle way{link.domain, link.to_far()};
  link.shared
      .post(receive(link.far_end.region.slice(0, route + 16)).id(1),
            receive(link.far_end.region.slice(block, route + 16)).id(2))
      .check();
  for (std::size_t index = 0; index < 2; ++index) {
    link.near_end.fill(0, 16, static_cast<unsigned>(index + 1));
    link.near_pairs[0]
        .post(send(link.near_end.region.const_slice(0, 16))
                  .to({.address = way,
                       .queue_pair = link.far_pairs[index].number(),
                       .queue_key = queue_key{0x11111111}})
                  .signaled())
        .check();
    const completion arrived = next_success(link.far_end.queue);
    CHECK(arrived.id() == index + 1);
    CHECK(arrived.queue_pair() == link.far_pairs[index].number());
    CHECK(arrived.success().receive().source_queue_pair() == link.near_pairs[0].number());
    CHECK(link.far_end.holds(index * block + route, 16, static_cast<unsigned>(index + 1)));
    next_success(link.near_end.queue);
  }
}

TEST_CASE("A full shared receive queue refuses the next receive") {
  shared_loopback<transport::rc> link{1, {.max_wr = 4, .max_sge = 1}};
  const std::uint32_t size = link.shared.query().max_wr();
  CHECK(size >= 4);
  const auto request = receive(link.far_end.region.slice(0, 8));
  // Providers may hold more than they report.
  std::uint32_t accepted = 0;
  while (accepted < 4 * size) {
    if (!link.shared.post(request)) break;
    ++accepted;
  }
  CHECK(accepted >= size);
  REQUIRE(accepted < 4 * size);
  const post_result refused = link.shared.post(request, request);
  CHECK(refused.code() == std::errc::not_enough_memory);
  CHECK(refused.accepted() == 0U);
  failure why;
  refused.check(why);
  CHECK(why.verb() == "ibv_post_srq_recv");
  CHECK(std::string{why.explanation()}.starts_with(
      "0 requests were accepted; possible causes: the queue is full (max_wr is "));

  // A message takes one: there is room for one again, and no more.
  link.near_pairs[0].post(send(link.near_end.region.const_slice(0, 8)).signaled()).check();
  next_success(link.far_end.queue);
  const post_result partly = link.shared.post(request, request);
  CHECK(!partly);
  CHECK(partly.accepted() == 1U);
}

TEST_CASE("A receive with more elements than max_sge is refused") {
  shared_loopback<transport::rc> link{1, {.max_wr = 8, .max_sge = 1}};
  const std::uint32_t allowed = link.shared.query().max_sge();
  const std::vector<mutable_buffer> list(allowed + 1, link.far_end.region.slice(0, 8));
  const auto good = receive(link.far_end.region.slice(0, 8));
  const post_result refused =
      link.shared.post(good, receive(std::span<const mutable_buffer>{list}));
  CHECK(refused.code() == std::errc::invalid_argument);
  CHECK(refused.accepted() == 1U);
}

TEST_CASE("A message longer than its receive fails on both sides") {
  shared_loopback<transport::rc> link{1};
  link.shared.post(receive(link.far_end.region.slice(0, 8)).id(7)).check();
  link.near_pairs[0].post(send(link.near_end.region.const_slice(0, 16)).signaled()).check();
  const completion sent = next_completion(link.near_end.queue);
  const completion received = next_completion(link.far_end.queue);
  CHECK(received.id() == 7);
  if (holds(device_facts::long_message_is_operation_error, link.context)) {
    CHECK(sent.status() == completion_status::remote_operation_error);
    CHECK(received.status() == completion_status::local_queue_pair_operation_error);
  } else {
    CHECK(sent.status() == completion_status::remote_invalid_request_error);
    CHECK(received.status() == completion_status::local_length_error);
  }
}

TEST_CASE("A message to an empty shared receive queue waits for a receive", "[ibv_post_srq_recv]") {
  shared_loopback<transport::rc> link{1};
  link.near_end.fill(0, 8, 3);
  link.near_pairs[0].post(send(link.near_end.region.const_slice(0, 8)).signaled()).check();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  std::array<completion, 1> none;
  CHECK(link.near_end.queue.poll(none).empty());
  link.shared.post(receive(link.far_end.region.slice(0, 8))).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
  CHECK(link.far_end.holds(0, 8, 3));
}

TEST_CASE("A pair with a shared receive queue refuses a receive with an explanation") {
  shared_loopback<transport::rc> link{1};
  const post_result refused = link.far_pairs[0].post(receive(link.far_end.region.slice(0, 8)));
  REQUIRE(!refused);
  failure why;
  refused.check(why);
  CHECK(why.verb() == "ibv_post_recv");
  CHECK(std::string{why.explanation()}.ends_with(
      "the pair has no receive queue: post to its shared receive queue"));
  // The shared queue is none the worse for it.
  link.shared.post(receive(link.far_end.region.slice(0, 8))).check();
  link.near_pairs[0].post(send(link.near_end.region.const_slice(0, 8)).signaled()).check();
  next_success(link.far_end.queue);
}

TEST_CASE("A shared receive queue reports its size and limit on a device",
          "[ibv_query_srq][ibv_modify_srq]") {
  shared_loopback<transport::rc> link{0, {.max_wr = 10, .max_sge = 3}};
  const shared_receive_queue_attributes made = link.shared.query();
  CHECK(made.max_wr() >= 10);
  CHECK(made.max_sge() >= 3);
  CHECK(made.limit() == 0);
  link.shared.set_limit(5);
  CHECK(link.shared.query().limit() == 5);
  link.shared.set_limit(0);
  CHECK(link.shared.query().limit() == 0);
}

TEST_CASE("A limit above the size fails with EINVAL and an explanation") {
  shared_loopback<transport::rc> link{0, {.max_wr = 8, .max_sge = 1}};
  const std::uint32_t size = link.shared.query().max_wr();
  const std::uint32_t beyond = 4 * size;
  failure why;
  link.shared.set_limit(beyond, why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.verb() == "ibv_modify_srq");
  CHECK(why.explanation() ==
        "the limit is " + std::to_string(beyond) + ", the queue holds " + std::to_string(size));
}

TEST_CASE("resize enlarges a shared receive queue and keeps its posted receives",
          "[ibv_modify_srq][optional]") {
  shared_loopback<transport::rc> link{1, {.max_wr = 4, .max_sge = 1}};
  if (!link.context.query_device().capabilities().contains(
          device_capability::resize_shared_receive_queue)) {
    tell_skip("resizing a shared receive queue", "the device cannot");
    return;
  }
  link.shared.post(receive(link.far_end.region.slice(0, 8)).id(1)).check();
  const std::uint32_t before = link.shared.query().max_wr();
  link.shared.resize(8 * before);
  CHECK(link.shared.query().max_wr() >= 8 * before);
  for (std::uint64_t id = 2; id <= 8 * before; ++id)
    link.shared.post(receive(link.far_end.region.slice(0, 8)).id(id)).check();
  const auto request = send(link.near_end.region.const_slice(0, 8)).signaled();
  for (std::uint64_t id = 1; id <= 8 * before; ++id) {
    link.near_pairs[0].post(request).check();
    CHECK(next_success(link.far_end.queue).id() == id);
    next_success(link.near_end.queue);
  }
}

TEST_CASE("A size beyond the device fails with EINVAL and an explanation") {
  const context opened = open_device();
  const protection_domain domain{opened};
  const std::uint32_t allowed = opened.query_device().max_shared_receive_queue_requests();
  const std::uint32_t allowed_sge = opened.query_device().max_shared_receive_queue_sge();
  failure why;
  const shared_receive_queue queue{
      domain, {.max_wr = allowed + 1, .max_sge = allowed_sge + 1}, why};
  CHECK(!queue);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "max_wr is " + std::to_string(allowed + 1) + ", the device allows " +
                                 std::to_string(allowed) + "; max_sge is " +
                                 std::to_string(allowed_sge + 1) + ", the device allows " +
                                 std::to_string(allowed_sge));
}

TEST_CASE("Closing a shared receive queue fails while pairs use it", "[ibv_destroy_srq]") {
  shared_loopback<transport::rc> link{2};
  failure why;
  link.shared.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 2 queue pairs; destroy these first");
  // The kernel reports it, too.
  CHECK(ibv_destroy_srq(link.shared.native_handle()) == EBUSY);
  link.far_pairs.clear();
  link.shared.close();
  CHECK(!link.shared);
}
