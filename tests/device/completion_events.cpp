// SPDX-License-Identifier: MIT
// The completions that raise an event of their channel, and how many events they raise.
#include "completion_events.hpp"

#include "memory_windows.hpp"

using namespace adverb;

namespace {

/// Long enough for an event that must not come: the completion has arrived.
constexpr int moment = 5;

struct event_link : window_link<> {
  event_link() : window_link{with_channels()} {}

  /// Sends a message, solicited or not, and waits for its completion at both ends.
  void pass_message(bool solicited) const {
    far_pair.post(receive()).check();
    if (solicited)
      near_pair.post(send().signaled().solicited()).check();
    else
      near_pair.post(send().signaled()).check();
    next_success(near_end.queue);
    next_success(far_end.queue);
  }
  /// Expects exactly one event at the far side.
  void check_one_event() const {
    REQUIRE(readable(far_channel, 10000));
    CHECK(far_channel.next_event());
    CHECK(!readable(far_channel, moment));
  }
};

/// The request raises one event of the armed queue if it is signaled, and none if it is not.
template <class Pair, class Request>
void check_raises(const completion_channel& channel, const completion_queue& queue,
                  const Pair& pair, const Request& unsignaled, const Request& signaled) {
  queue.request_notification();
  pair.post(unsignaled).check();
  CHECK(!readable(channel, moment));
  pair.post(signaled.signaled().id(8)).check();
  REQUIRE(readable(channel, 10000));
  CHECK(channel.next_event());
  CHECK(next_success(queue).id() == 8);
  CHECK(!readable(channel, moment));
}

}  // namespace

TEST_CASE("A signaled atomic raises an event, an unsignaled one does not") {
  const event_link link;
  const remote_buffer<std::uint64_t, access_right::remote_atomic> number{
      adopt,
      link.far_end.region.device_address() + (8 - link.far_end.region.device_address() % 8) % 8, 1,
      link.far_end.region.rkey()};
  const mutable_buffer here = link.near_end.region.slice(0, 8);
  const auto add = fetch_and_add(number, 1, here);
  check_raises(link.near_channel, link.near_end.queue, link.near_pair, add, add);
  const auto swap = compare_and_swap(number, {.expected = 2, .desired = 3}, here);
  check_raises(link.near_channel, link.near_end.queue, link.near_pair, swap, swap);
  CHECK(!readable(link.far_channel, 0));
}

TEST_CASE("A signaled bind or invalidation raises an event, an unsignaled one does not") {
  const event_link link;
  const memory_window<window_type::two> first{link.domain};
  const memory_window<window_type::two> second{link.domain};
  const auto unsignaled = first.prepare(link.region, 0, 64);
  const auto signaled = second.prepare(link.region, 0, 64);
  check_raises(link.far_channel, link.far_end.queue, link.far_pair, bind_window(unsignaled),
               bind_window(signaled));
  check_raises(link.far_channel, link.far_end.queue, link.far_pair, local_invalidate(unsignaled),
               local_invalidate(signaled));
}

TEST_CASE("Arming for all completions raises a queue that is armed for solicited ones") {
  const event_link link;
  link.far_end.queue.request_notification(true);
  link.pass_message(false);
  CHECK(!readable(link.far_channel, moment));
  link.far_end.queue.request_notification();
  link.pass_message(false);
  link.check_one_event();
}

TEST_CASE("Arming for solicited completions does not lower a queue that is armed for all") {
  const event_link link;
  link.far_end.queue.request_notification();
  link.far_end.queue.request_notification(true);
  link.pass_message(false);
  link.check_one_event();
  // The event has disarmed both.
  link.pass_message(true);
  CHECK(!readable(link.far_channel, moment));
}

TEST_CASE("A queue that is armed many times raises one event for many completions") {
  const event_link link;
  for (int round = 0; round < 3; ++round) {
    for (int count = 0; count < 100; ++count) link.far_end.queue.request_notification();
    for (int count = 0; count < 5; ++count) link.pass_message(count % 2 == 0);
    link.check_one_event();
  }
}

TEST_CASE("A queue raises no event for completions before it was armed or after its event") {
  const event_link link;
  link.pass_message(true);
  CHECK(!readable(link.far_channel, moment));

  link.far_pair.post(receive(), receive()).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  // The completion waits in the queue.
  link.far_end.queue.request_notification();
  CHECK(!readable(link.far_channel, moment));
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  link.check_one_event();
  next_success(link.far_end.queue);
  next_success(link.far_end.queue);

  for (int count = 0; count < 5; ++count) link.pass_message(true);
  CHECK(!readable(link.far_channel, moment));
  CHECK(!readable(link.near_channel, 0));
}
