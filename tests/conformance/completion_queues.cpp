// SPDX-License-Identifier: MIT
// Polling, arming and events of a completion queue, whose completions are flushed receives: those
// come without a peer.
#include <array>
#include <vector>

#include <poll.h>

#include "place.hpp"

using namespace adverb;

namespace {

/// A queue with a channel, and pairs that have failed on it.
struct waiting_bench : bench {
  completion_channel channel{device};
  completion_queue announced{device, 16, {.channel = channel}};
  std::vector<queue_pair<transport::rc, qp_state::error>> failed;

  /// Makes receives of these ids complete, flushed.
  void complete(std::uint64_t first, std::uint64_t last) {
    auto fresh = queue_pair<transport::rc>::create(
        domain, {.send_cq = announced, .recv_cq = announced, .max_recv_wr = 8});
    auto waiting = initialised(fresh);
    for (std::uint64_t id = first; id <= last; ++id) waiting.post(receive().id(id)).check();
    failed.push_back(waiting.error());
  }
  /// Returns whether there is an event within this time.
  [[nodiscard]] bool has_event(int milliseconds = 10000) const {
    pollfd waiting{.fd = channel.file_descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, milliseconds) == 1;
  }
};

}  // namespace

TEST_CASE("Polling an empty queue returns 0 each time", "[ibv_poll_cq]") {
  const bench bench;
  ibv_wc found{};
  for (int repetition = 0; repetition < 3; ++repetition)
    CHECK(ibv_poll_cq(bench.queue.native_handle(), 1, &found) == 0);
  CHECK(ibv_poll_cq(bench.queue.native_handle(), 0, &found) == 0);
}

TEST_CASE("Polls for one completion at a time return the completions in order", "[ibv_poll_cq]") {
  waiting_bench bench;
  bench.announced.request_notification();
  bench.complete(1, 3);
  REQUIRE(bench.has_event());
  CHECK(next_completion(bench.announced).id() == 1);
  CHECK(next_completion(bench.announced).id() == 2);
  CHECK(next_completion(bench.announced).id() == 3);
  std::array<completion, 1> none;
  CHECK(bench.announced.poll(none).empty());
  CHECK(bench.channel.next_event());
}

TEST_CASE("An armed queue raises one event",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events]") {
  waiting_bench bench;
  bench.complete(1, 1);
  CHECK(next_completion(bench.announced).id() == 1);
  CHECK(!bench.has_event(0));

  bench.announced.request_notification();
  CHECK(!bench.has_event(0));
  bench.complete(2, 4);
  for (std::uint64_t id = 2; id <= 4; ++id) CHECK(next_completion(bench.announced).id() == id);
  REQUIRE(bench.has_event());
  const auto named = bench.channel.next_event();
  REQUIRE(named);
  CHECK(named->native_handle() == bench.announced.native_handle());
  CHECK(!bench.has_event(20));
  bench.complete(5, 5);
  CHECK(next_completion(bench.announced).id() == 5);
  CHECK(!bench.has_event(20));
}

TEST_CASE("A flushed request wakes a queue that is armed for solicited messages",
          "[ibv_req_notify_cq][ibv_get_cq_event]") {
  waiting_bench bench;
  if (holds(device_facts::flush_does_not_wake_solicited, bench.device))
    return tell_skip("flushes and solicited messages", "Soft-RoCE since Linux 6.4 wakes nobody");
  bench.announced.request_notification(true);
  bench.complete(1, 1);
  REQUIRE(bench.has_event());
  CHECK(bench.channel.next_event());
  CHECK(next_completion(bench.announced).id() == 1);
}

TEST_CASE("ibv_req_notify_cq succeeds on a queue without a channel", "[ibv_req_notify_cq]") {
  const bench bench;
  CHECK(ibv_req_notify_cq(bench.queue.native_handle(), 0) == 0);
}

TEST_CASE("ibv_resize_cq grows and shrinks a queue and refuses 0 and sizes beyond the device",
          "[ibv_resize_cq]") {
  const bench bench;
  ibv_cq* const queue = bench.queue.native_handle();
  const auto limit = static_cast<int>(bench.device.query_device().max_completion_queue_entries());
  CHECK(ibv_resize_cq(queue, 200) == 0);
  CHECK(queue->cqe >= 200);
  CHECK(ibv_resize_cq(queue, 1) == 0);
  CHECK(queue->cqe >= 1);
  const int before = queue->cqe;
  CHECK(ibv_resize_cq(queue, 0) == EINVAL);
  CHECK(ibv_resize_cq(queue, -1) == EINVAL);
  CHECK(ibv_resize_cq(queue, limit + 1) == EINVAL);
  CHECK(queue->cqe == before);
}

TEST_CASE("ibv_resize_cq refuses a size below the number of queued completions",
          "[ibv_resize_cq]") {
  waiting_bench bench;
  // An event for each of them shows that all have come.
  for (std::uint64_t id = 1; id <= 4; ++id) {
    bench.announced.request_notification();
    bench.complete(id, id);
    REQUIRE(bench.has_event());
    CHECK(bench.channel.next_event());
  }
  CHECK(ibv_resize_cq(bench.announced.native_handle(), 2) == EINVAL);
  for (std::uint64_t id = 1; id <= 4; ++id) CHECK(next_completion(bench.announced).id() == id);
}
