// SPDX-License-Identifier: MIT
// Properties of extended completion queues alone, on the real device.
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <support/reported.hpp>

#include "either_engine.hpp"

using namespace adverb;

namespace {

using extended_link = queue_link<transport::rc, extended_completion_queue<>>;

/// Lets messages 1 to `count` arrive at the far end.
void send_messages(const extended_link& link, std::uint64_t count) {
  for (std::uint64_t id = 1; id <= count; ++id) {
    link.far_pair.post(receive().id(id)).check();
    link.near_pair.post(send().signaled()).check();
    take_success(link.near_end.queue);
  }
}

}  // namespace

TEST_CASE("An extended queue holds at least the requested number, and is empty at first",
          "[ibv_create_cq_ex][ibv_start_poll]") {
  const context device = open_device();
  int user = 0;
  const completion_channel channel{device};
  const extended_completion_queue<> queue{device, 100, {.channel = channel, .user_context = &user}};
  CHECK(queue.capacity() >= 100);
  CHECK(queue.user_context() == &user);
  CHECK(queue.channel().native_handle() == channel.native_handle());
  for ([[maybe_unused]] const auto& each : queue.poll()) FAIL("there is nothing to poll");
  for ([[maybe_unused]] const auto& each : queue.poll(1)) FAIL("there is nothing to poll");
}

TEST_CASE("An impossible size or vector of an extended queue fails with an explanation") {
  const context device = open_device();
  const auto said = [&](std::size_t capacity, const completion_queue_options& options) {
    return std::string{reported([&](auto&&... policy) {
                         const extended_completion_queue<> queue{device, capacity, options,
                                                                 policy...};
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

TEST_CASE("An extended queue fails and names the fields that the device lacks", "[optional]") {
  const context device = open_device();
  if (!is_soft_roce(device)) {
    tell_skip("An extended queue fails and names the fields that the device lacks",
              "what other devices lack is not known here");
    return;
  }
  const auto said = [&]<completion_field Field>(std::integral_constant<completion_field, Field>) {
    return std::string{reported([&](auto&&... policy) {
                         const extended_completion_queue<Field> queue{device, 16, policy...};
                         CHECK(!queue);
                       }).what()};
  };
  const std::string head = "ibv_create_cq_ex on " + std::string{device.device().name()} +
                           ": EOPNOTSUPP (Operation not supported); ";
  using field = completion_field;
  const std::string instead = "; use completion_queue, or let either_completion_queue choose";
  CHECK(said(std::integral_constant<field, field::timestamp>{}) ==
        head + "the device has no completion timestamps" + instead);
  CHECK(said(std::integral_constant<field, field::wall_clock>{}) ==
        head + "the device has no completion timestamps" + instead);
  CHECK(said(std::integral_constant<field, field::vlan>{}) ==
        head + "the device does not report VLANs" + instead);
  CHECK(said(std::integral_constant<field, field::flow_tag>{}) ==
        head + "the device has no flow steering, so no flow tags" + instead);
  CHECK(said(std::integral_constant<field, field::tag_matching>{}) ==
        head + "the device has no tag matching" + instead);
}

TEST_CASE("moderate explains that the device lacks completion moderation", "[optional]") {
  const context device = open_device();
  if (device.query_device().native().cq_mod_caps.max_cq_count != 0) {
    tell_skip("moderate explains that the device lacks completion moderation", "this one has it");
    return;
  }
  const completion_queue queue{device, 16};
  failure why;
  queue.moderate(16, std::chrono::microseconds{10}, why);
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == std::string{device.device().name()} + " has no completion moderation");
}

TEST_CASE("Completions are moderated by number and time", "[ibv_modify_cq][optional]") {
  const context device = open_device();
  const ibv_cq_moderation_caps limits = device.query_device().native().cq_mod_caps;
  if (limits.max_cq_count == 0) {
    tell_skip("Completions are moderated by number and time", "the device has no moderation");
    return;
  }
  const completion_queue queue{device, 16};
  failure why;
  queue.moderate(1, std::chrono::microseconds{limits.max_cq_period}, why);
  CHECK(!why);
}

TEST_CASE("A round with a limit returns that many completions in order and leaves the rest",
          "[ibv_start_poll][ibv_next_poll][ibv_end_poll]") {
  const extended_link link;
  send_messages(link, 5);
  std::vector<std::uint64_t> ids;
  for (const auto& completion : link.far_end.queue.poll(2)) ids.push_back(completion.id());
  CHECK(ids == std::vector<std::uint64_t>{1, 2});
  for (const auto& completion : link.far_end.queue.poll(3)) ids.push_back(completion.id());
  CHECK(ids == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  for ([[maybe_unused]] const auto& each : link.far_end.queue.poll(3)) FAIL("all were taken");
}

TEST_CASE("Leaving a loop removes only the completions that it reached",
          "[ibv_start_poll][ibv_end_poll]") {
  const extended_link link;
  send_messages(link, 3);
  for (const auto& completion : link.far_end.queue.poll()) {
    CHECK(completion.id() == 1);
    break;
  }
  CHECK_THROWS_AS(
      [&] {
        for (const auto& completion : link.far_end.queue.poll()) throw completion.id();
      }(),
      std::uint64_t);
  take(link.far_end.queue, [](const auto& last) { CHECK(last.id() == 3); });
}

TEST_CASE("A queue that is polled one at a time carries more completions than its size",
          "[ibv_start_poll][ibv_end_poll]") {
  const extended_link link;
  const std::uint64_t rounds = 3 * link.far_end.queue.capacity();
  for (std::uint64_t id = 1; id <= rounds; ++id) {
    link.far_pair.post(receive().id(id)).check();
    link.near_pair.post(send().signaled()).check();
    take_success(link.near_end.queue);
    take(link.far_end.queue, [&](const auto& received) { REQUIRE(received.id() == id); });
    for ([[maybe_unused]] const auto& each : link.far_end.queue.poll(1)) FAIL("all were taken");
  }
}

TEST_CASE("A loop without a limit returns all completions and leaves the queue usable",
          "[ibv_start_poll][ibv_next_poll][ibv_end_poll][optional]") {
  const extended_link link;
  if (holds(device_facts::loses_place, link.context)) {
    tell_skip("A loop without a limit returns all completions and leaves the queue usable",
              "librxe before rdma-core 55 loses its place in a queue that was emptied");
    return;
  }
  for (int repetition = 0; repetition < 3; ++repetition) {
    send_messages(link, 5);
    std::vector<std::uint64_t> ids;
    for (const auto& completion : link.far_end.queue.poll()) ids.push_back(completion.id());
    CHECK(ids == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  }
}

TEST_CASE("librxe before rdma-core 55 returns a bogus completion after an unlimited loop",
          "[optional]") {
  const extended_link link;
  if (!holds(device_facts::loses_place, link.context)) {
    tell_skip("librxe before rdma-core 55 returns a bogus completion after an unlimited loop",
              "this is another provider, or a later one");
    return;
  }
  send_messages(link, 2);
  std::vector<std::uint64_t> ids;
  for (const auto& completion : link.far_end.queue.poll()) ids.push_back(completion.id());
  CHECK(ids == std::vector<std::uint64_t>{1, 2});
  // Nothing came since, and yet there is something.
  std::size_t bogus = 0;
  for ([[maybe_unused]] const auto& each : link.far_end.queue.poll(1)) ++bogus;
  CHECK(bogus == 1);
}

TEST_CASE("One channel serves many queues of both engines and names the queue of each event",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events][ibv_cq_ex_to_cq]") {
  const context device = open_device();
  const protection_domain domain{device};
  const completion_channel channel{device};
  std::vector<completion_queue> classic;
  std::vector<extended_completion_queue<>> extended;
  std::vector<queue_pair<transport::rc>> pairs;
  const auto add_pair = [&](completion_queue_ref queue) {
    auto fresh = queue_pair<transport::rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
    auto waiting = initialised(fresh);
    const endpoint itself = waiting.endpoint();
    pairs.push_back(waiting.connect(itself, unhurried()));
  };
  constexpr std::size_t of_each = 8;
  for (std::size_t index = 0; index < of_each; ++index) {
    add_pair(classic.emplace_back(device, 16, completion_queue_options{.channel = channel}));
    add_pair(extended.emplace_back(device, 16, completion_queue_options{.channel = channel}));
  }

  std::vector<std::uint64_t> ids;
  const auto note = [&](const auto& completion) { ids.push_back(completion.id()); };
  for (const completion_queue& queue : classic) queue.arm_and_poll(up_to<1>, note);
  for (const extended_completion_queue<>& queue : extended) queue.arm_and_poll(up_to<1>, note);
  CHECK(ids.empty());

  for (std::uint64_t index = 2 * of_each; index-- > 0;) {
    pairs[index].post(receive().id(100 + index)).check();
    pairs[index].post(send().id(index)).check();
    const auto named = channel.next_event();
    REQUIRE(named);
    const std::size_t which = index / 2;
    const completion_queue_ref expected = index % 2 == 0 ? completion_queue_ref{classic[which]}
                                                         : completion_queue_ref{extended[which]};
    REQUIRE(named->native_handle() == expected.native_handle());
    ids.clear();
    if (index % 2 == 0)
      classic[which].arm_and_poll(up_to<1>, note);
    else
      extended[which].arm_and_poll(up_to<1>, note);
    CHECK(ids == std::vector<std::uint64_t>{100 + index});
  }
  channel.set_non_blocking(true);
  CHECK(!channel.next_event());
  pairs.clear();
}

TEST_CASE("A queue is created with ignore_overrun or fails with EOPNOTSUPP",
          "[ibv_create_cq_ex][optional]") {
  const context device = open_device();
  failure why;
  const extended_completion_queue<> queue{device, 16, {.ignore_overrun = true}, why};
  if (queue) {
    CHECK(!why);
    return;
  }
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == std::string{device.device().name()} +
                                 " has no extended completion queues, or none of this kind; "
                                 "use completion_queue, or let either_completion_queue choose");
  tell_skip("A queue is created with ignore_overrun or fails with EOPNOTSUPP",
            "the device does not ignore them");
}
