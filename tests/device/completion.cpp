// SPDX-License-Identifier: MIT
// Completion queues, channels and events on the real device.
#include <string>
#include <vector>

#include <support/reported.hpp>

#include "completion_events.hpp"

using namespace adverb;

TEST_CASE("A completion queue holds at least the requested number, and is empty at first",
          "[ibv_create_cq]") {
  const context device = open_device();
  int user = 0;
  const completion_queue queue{device, 100, {.user_context = &user}};
  CHECK(queue.capacity() >= 100);
  CHECK(queue.user_context() == &user);
  CHECK(!queue.channel());
  std::array<completion, 4> found;
  CHECK(queue.poll(found).empty());
}

TEST_CASE("An impossible size or vector of a completion queue fails with an explanation") {
  const context device = open_device();
  const auto said = [&](std::size_t capacity, const completion_queue_options& options) {
    return std::string{reported([&](auto&&... policy) {
                         const completion_queue queue{device, capacity, options, policy...};
                         CHECK(!queue);
                       }).explanation()};
  };
  const std::size_t limit = device.query_device().max_completion_queue_entries();
  CHECK(said(0, {}) == "a completion queue needs room for at least one completion");
  CHECK(said(limit + 1, {}) == std::to_string(limit + 1) +
                                   " entries were requested, the device allows " +
                                   std::to_string(limit));
  const std::uint32_t vectors = device.completion_vectors();
  CHECK(said(16, {.vector = vectors}) == "completion vector " + std::to_string(vectors) +
                                             " is out of range: the device has " +
                                             std::to_string(vectors) + ", numbered from 0");
}

TEST_CASE("wait returns available completions and those that arrive",
          "[ibv_create_comp_channel][ibv_get_cq_event][ibv_ack_cq_events][ibv_req_notify_cq]") {
  loopback<transport::rc> link{with_channels()};
  link.far_pair.post(receive().id(1), receive().id(2)).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  std::array<completion, 4> found;
  const auto first = link.far_end.queue.wait(found);
  REQUIRE(first.size() == 1);
  CHECK(first[0].id() == 1);

  std::thread sender{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    link.near_pair.post(send()).check();
  }};
  const auto second = link.far_end.queue.wait(found);
  sender.join();
  REQUIRE(second.size() == 1);
  CHECK(second[0].id() == 2);
}

TEMPLATE_TEST_CASE_SIG("next returns completions that are there, and those that come",
                       "[ibv_get_cq_event][ibv_req_notify_cq]", ((bool Sleeps), Sleeps), true,
                       false) {
  loopback_options<transport::rc> options;
  options.with_channels = Sleeps;
  loopback<transport::rc> link{options};
  const completion_queue& queue = link.far_end.queue;
  link.far_pair.post(receive().id(1), receive().id(2), receive().id(3)).check();
  link.near_pair.post(send().signaled(), send().signaled()).check();
  link.near_end.queue.next().check();
  link.near_end.queue.next().check();
  for (const std::uint64_t id : {1U, 2U}) {
    const completion found = queue.next();
    found.check();
    CHECK(found.id() == id);
  }

  failure why;
  CHECK_FALSE(queue.next(std::chrono::milliseconds{20}, why).success());
  CHECK(why.code() == std::errc::timed_out);

  std::thread sender{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    link.near_pair.post(send()).check();
  }};
  const completion last = queue.next(std::chrono::seconds{60});
  sender.join();
  last.check();
  CHECK(last.id() == 3);
}

TEST_CASE("wait fails and explains that the queue lacks a channel") {
  const context device = open_device();
  const completion_queue queue{device, 4};
  std::array<completion, 1> found;
  failure why;
  CHECK(queue.wait(found, why).empty());
  CHECK(why.explanation() == "the queue has no completion channel");
}

TEST_CASE("wait continues after events whose completions were already polled") {
  loopback<transport::rc> link{with_channels()};
  std::array<completion, 4> found;
  // Each of these leaves an event behind, because the queue was armed and then polled.
  for (int repetition = 0; repetition < 3; ++repetition) {
    link.far_end.queue.request_notification();
    link.far_pair.post(receive()).check();
    link.near_pair.post(send()).check();
    next_success(link.far_end.queue);
  }
  link.far_pair.post(receive().id(9)).check();
  std::thread sender{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    link.near_pair.post(send()).check();
  }};
  const auto last = link.far_end.queue.wait(found);
  sender.join();
  REQUIRE(last.size() == 1);
  CHECK(last[0].id() == 9);
}

TEST_CASE("arm_and_poll returns all completions, and the next completion raises an event") {
  loopback<transport::rc> link{with_channels()};
  for (std::uint64_t id = 1; id <= 5; ++id) link.far_pair.post(receive().id(id)).check();
  for (int index = 0; index < 4; ++index) link.near_pair.post(send()).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);

  std::vector<std::uint64_t> ids;
  std::array<completion, 2> batch;
  const auto consume = [&](const completion& done) { ids.push_back(done.id()); };
  link.far_end.queue.arm_and_poll(batch, consume);
  CHECK(ids == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK(!readable(link.far_channel, 0));

  link.far_pair.post(receive().id(6)).check();
  link.near_pair.post(send()).check();
  REQUIRE(readable(link.far_channel, 10000));
  const auto named = link.far_channel.next_event();
  REQUIRE(named);
  CHECK(named->native_handle() == link.far_end.queue.native_handle());
  named->arm_and_poll(batch, consume);
  CHECK(ids.back() == 6);
}

TEST_CASE("One channel serves several queues and names the queue of each event") {
  loopback<transport::rc> link;
  const completion_channel channel{link.context};
  const completion_queue first{link.context, 16, {.channel = channel}};
  const completion_queue second{link.context, 16, {.channel = channel}};
  const auto connected = [&](const completion_queue& queue) {
    auto fresh =
        queue_pair<transport::rc>::create(link.domain, {.send_cq = queue, .recv_cq = queue});
    auto waiting = initialised(fresh);
    const endpoint itself = waiting.endpoint();
    return waiting.connect(itself, unhurried());
  };
  const auto on_first = connected(first);
  const auto on_second = connected(second);
  std::array<completion, 4> batch;
  std::size_t count = 0;
  const auto consume = [&](const completion&) { ++count; };
  first.arm_and_poll(batch, consume);
  second.arm_and_poll(batch, consume);
  CHECK(count == 0);

  on_second.post(receive()).check();
  on_second.post(send()).check();
  const auto named = channel.next_event();
  REQUIRE(named);
  CHECK(named->native_handle() == second.native_handle());
  named->arm_and_poll(batch, consume);
  CHECK(count == 1);
}

TEST_CASE("next_event of a non-blocking channel returns none if there is no event") {
  loopback<transport::rc> link{with_channels()};
  link.far_channel.set_non_blocking(true);
  CHECK(!link.far_channel.next_event());
  link.far_end.queue.request_notification();
  CHECK(!link.far_channel.next_event());
  link.far_pair.post(receive()).check();
  link.near_pair.post(send()).check();
  REQUIRE(readable(link.far_channel, 10000));
  CHECK(link.far_channel.next_event());
  CHECK(!link.far_channel.next_event());
}

TEST_CASE("A queue that is armed for solicited messages raises no event for others",
          "[ibv_req_notify_cq]") {
  loopback<transport::rc> link{with_channels()};
  link.far_pair.post(receive(), receive()).check();
  link.far_end.queue.request_notification(true);
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
  CHECK(!readable(link.far_channel, 50));
  link.near_pair.post(send().solicited()).check();
  CHECK(readable(link.far_channel, 10000));
  CHECK(link.far_channel.next_event());
}

TEST_CASE("An error wakes a queue that is armed for solicited messages", "[optional]") {
  loopback<transport::rc> link{with_channels()};
  if (holds(device_facts::flush_does_not_wake_solicited, link.context))
    return tell_skip("errors and solicited messages", "Soft-RoCE since Linux 6.4 wakes nobody");
  link.near_end.queue.request_notification(true);
  link.near_pair.post(receive()).check();
  const auto failed = link.near_pair.error();
  REQUIRE(readable(link.near_channel, 10000));
  CHECK(link.near_channel.next_event());
  CHECK(next_completion(link.near_end.queue).status() == completion_status::flushed);
}

TEST_CASE("poll returns several completions at once, up to the size of the span") {
  loopback<transport::rc> link;
  for (std::uint64_t id = 1; id <= 5; ++id) link.far_pair.post(receive().id(id)).check();
  for (int index = 0; index < 4; ++index) link.near_pair.post(send()).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  std::array<completion, 3> batch;
  const auto first = link.far_end.queue.poll(batch);
  REQUIRE(first.size() == 3);
  CHECK(first[2].id() == 3);
  const auto rest = link.far_end.queue.poll(batch);
  REQUIRE(rest.size() == 2);
  CHECK(rest[1].id() == 5);
}

TEST_CASE("A queue can be destroyed directly after its event was read",
          "[ibv_get_cq_event][ibv_ack_cq_events][ibv_destroy_cq]") {
  loopback<transport::rc> link;
  const completion_channel channel{link.context};
  completion_queue queue{link.context, 16, {.channel = channel}};
  auto fresh = queue_pair<transport::rc>::create(link.domain, {.send_cq = queue, .recv_cq = queue});
  auto waiting = initialised(fresh);
  waiting.post(receive()).check();
  queue.request_notification();
  {
    const auto failed = waiting.error();
    // Soft-RoCE flushes what is posted when the pair goes to the error state.
    REQUIRE(readable(channel, 10000));
    CHECK(channel.next_event());
  }
  // Would wait for ever for an event that is not acknowledged.
  queue.close();
  CHECK(!queue);
}

TEST_CASE("An unread event does not keep its queue or channel from closing",
          "[ibv_destroy_cq][ibv_destroy_comp_channel]") {
  loopback<transport::rc> link{with_channels()};
  link.near_end.queue.request_notification();
  link.near_pair.post(receive()).check();
  {
    const auto failed = link.near_pair.error();
    REQUIRE(readable(link.near_channel, 10000));
  }
  link.near_end.queue.close();
  link.near_channel.close();
}

TEST_CASE("Arming a queue without a channel has no effect", "[ibv_req_notify_cq]") {
  loopback<transport::rc> link;
  CHECK(!link.far_end.queue.channel());
  link.far_end.queue.request_notification();
  link.far_pair.post(receive()).check();
  link.near_pair.post(send()).check();
  next_success(link.far_end.queue);
}
