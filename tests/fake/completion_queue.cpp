// SPDX-License-Identifier: MIT
// Completion queues: made, polled, armed and waited on.
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/completion/completion_queue.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using ids = std::vector<std::uint64_t>;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::completion_queue queue{context, 16, {.channel = channel}};
  std::array<adverb::completion, 2> batch;
  ids seen;

  void complete(std::uint64_t id) { machine.complete(queue.native_handle(), completed(id)); }

  /// The order of the calls of poll, arm, and wait, as letters.
  [[nodiscard]] std::string order() const {
    std::string letters;
    for (const fake::call& call : machine.log()) {
      if (call.as<called::poll_cq>() != nullptr) letters += 'p';
      if (call.as<called::req_notify_cq>() != nullptr) letters += 'a';
      if (call.as<called::get_cq_event>() != nullptr) letters += 'w';
      if (call.as<called::ack_cq_events>() != nullptr) letters += 'k';
    }
    return letters;
  }

  [[nodiscard]] auto collect() {
    return [this](const adverb::completion& done) { seen.push_back(done.id()); };
  }
};

ids ids_of(std::span<const adverb::completion> found) {
  ids all;
  for (const adverb::completion& each : found) all.push_back(each.id());
  return all;
}

}  // namespace

TEST_CASE_METHOD(fixture, "a completion queue is created with its options", "[ibv_create_cq]") {
  int user = 0;
  machine.name("user", user);
  const adverb::completion_queue made{
      context, 10, {.channel = channel, .vector = 3, .user_context = &user}};
  CHECK(machine.line() ==
        "ibv_create_cq ctx0 cqe=10 cq_context=user channel=channel0 comp_vector=3");

  CHECK(made.capacity() == 16);
  CHECK(made.user_context() == &user);
  CHECK(made.channel().native_handle() == channel.native_handle());
  CHECK(made.context().native_handle() == context.native_handle());
}

TEST_CASE_METHOD(fixture, "a completion queue can be created without a channel") {
  const adverb::completion_queue polled{context, 16};
  CHECK_FALSE(polled.channel());
  CHECK(machine.line() == "ibv_create_cq ctx0 cqe=16");
}

TEST_CASE_METHOD(fixture, "creating a queue fails with a reason") {
  const auto refusal = [&](std::size_t capacity, adverb::completion_queue_options options) {
    const adverb::failure why = reported([&](auto&&... policy) {
      const adverb::completion_queue made{context, capacity, options, policy...};
    });
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.object() == "fake0");
    return std::string{why.explanation()};
  };
  CHECK(refusal(0, {}) == "a completion queue needs room for at least one completion");
  CHECK(refusal(40000, {}) == "40000 entries were requested, the device allows 32768");
  CHECK(refusal(SIZE_MAX, {}) ==
        "18446744073709551615 entries were requested, the device allows 32768");
  CHECK(refusal(16, {.vector = 4}) ==
        "completion vector 4 is out of range: the device has 4, numbered from 0");
}

TEST_CASE_METHOD(fixture, "a capacity beyond an int is refused, not truncated") {
  std::error_code code;
  const adverb::completion_queue made{context, (std::size_t{1} << 32) + 16, code};
  CHECK(code == std::errc::invalid_argument);
  CHECK(machine.line<called::create_cq>() == "ibv_create_cq ctx0 cqe=2147483647");
}

TEST_CASE_METHOD(fixture, "poll returns available completions, up to the size of the span",
                 "[ibv_poll_cq]") {
  CHECK(queue.poll(batch).empty());
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  CHECK(ids_of(queue.poll(batch)) == ids{1, 2});
  CHECK(ids_of(queue.poll(batch)) == ids{3});
  CHECK(queue.poll(batch).empty());
  CHECK(machine.line() == "ibv_poll_cq cq0 num_entries=2");
}

TEST_CASE_METHOD(fixture, "a poll that fails is reported") {
  const adverb::failure why = reported([&] { machine.fail<called::poll_cq>(EINVAL); },
                                       [&](auto&&... policy) {
                                         const bool none = queue.poll(batch, policy...).empty();
                                         CHECK(none);
                                       });
  CHECK(std::string{why.what()} == "ibv_poll_cq on fake0 cq 1: EIO (Input/output error)");
}

TEST_CASE_METHOD(fixture,
                 "request_notification requests an event for all or only solicited completions",
                 "[ibv_req_notify_cq]") {
  queue.request_notification();
  queue.request_notification(true);
  CHECK_THAT(machine.lines<called::req_notify_cq>(), is_log(R"(
    ibv_req_notify_cq cq0 solicited_only=0
    ibv_req_notify_cq cq0 solicited_only=1)"));
  const adverb::failure why =
      reported([&] { machine.fail<called::req_notify_cq>(EIO); },
               [&](auto&&... policy) { queue.request_notification(false, policy...); });
  CHECK(std::string{why.what()} == "ibv_req_notify_cq on fake0 cq 1: EIO (Input/output error)");
}

TEST_CASE_METHOD(fixture, "wait polls first and returns available completions without an event") {
  complete(1);
  CHECK(ids_of(queue.wait(batch)) == ids{1});
  CHECK(order() == "p");
}

TEST_CASE_METHOD(fixture, "wait arms the queue and polls again before it sleeps") {
  machine.before<called::get_cq_event>([&] { complete(7); });
  CHECK(ids_of(queue.wait(batch)) == ids{7});
  CHECK(order() == "papwkp");
  CHECK(machine.unacknowledged(queue.native_handle()) == 0);
}

TEST_CASE_METHOD(fixture, "wait returns a completion that arrives just before the queue is armed") {
  machine.before<called::req_notify_cq>([&] { complete(7); });
  CHECK(ids_of(queue.wait(batch)) == ids{7});
  CHECK(order() == "pap");
}

TEST_CASE_METHOD(fixture, "a wait polls again after an event left over from an earlier round") {
  machine.announce(queue.native_handle());
  int sleeps = 0;
  machine.before<called::get_cq_event>([&] {
    if (++sleeps == 2) complete(7);
  });
  CHECK(ids_of(queue.wait(batch)) == ids{7});
  CHECK(order() == "papwkpapwkp");
  CHECK(machine.unacknowledged(queue.native_handle()) == 0);
}

TEST_CASE_METHOD(fixture, "an interrupted wait returns none, without an error") {
  machine.fail<called::get_cq_event>(EINTR);
  std::error_code code;
  CHECK(queue.wait(batch, code).empty());
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture,
                 "waiting on a non-blocking channel returns none, and leaves the queue armed") {
  channel.set_non_blocking(true);
  std::error_code code;
  CHECK(queue.wait(batch, code).empty());
  CHECK_FALSE(code);
  complete(7);
  CHECK(channel.next_event()->native_handle() == queue.native_handle());
  CHECK(ids_of(queue.wait(batch)) == ids{7});
}

TEST_CASE_METHOD(fixture, "wait reports a failed step and stops") {
  const auto wait = [&](auto&&... policy) {
    const bool none = queue.wait(batch, policy...).empty();
    CHECK(none);
  };
  CHECK(reported([&] { machine.fail<called::poll_cq>(EIO); }, wait).verb() == "ibv_poll_cq");
  CHECK(order() == "ppp");
  machine.forget_calls();
  CHECK(reported([&] { machine.fail<called::req_notify_cq>(EIO); }, wait).verb() ==
        "ibv_req_notify_cq");
  CHECK(order() == "papapa");
  machine.forget_calls();
  CHECK(reported([&] { machine.fail<called::poll_cq>(EIO, 2); }, wait).verb() == "ibv_poll_cq");
  CHECK(order() == "pappappap");
  machine.forget_calls();
  CHECK(reported([&] { machine.fail<called::get_cq_event>(EIO); }, wait).verb() ==
        "ibv_get_cq_event");
  CHECK(order() == "papwpapwpapw");
}

TEST_CASE_METHOD(fixture, "wait fails on a queue without a channel") {
  const adverb::completion_queue polled{context, 16};
  const adverb::failure why = reported([&](auto&&... policy) {
    const bool none = polled.wait(batch, policy...).empty();
    CHECK(none);
  });
  CHECK(std::string{why.what()} ==
        "completion_queue::wait on fake0 cq 2: EINVAL (Invalid argument); "
        "the queue has no completion channel");
  CHECK(order().empty());
}

TEST_CASE_METHOD(fixture, "wait takes an event that it no longer needs at once") {
  int polls = 0;
  machine.before<called::poll_cq>([&] {
    // Between arming and the second poll.
    if (++polls == 2) complete(1);
  });
  CHECK(ids_of(queue.wait(batch)) == ids{1});
  CHECK(order() == "papwk");
  CHECK_FALSE(channel.has_event());
}

TEST_CASE_METHOD(fixture, "wait fails if the channel serves another queue") {
  const adverb::completion_queue other{context, 16, {.channel = channel}};
  CHECK(reported([&] { machine.announce(other.native_handle()); },
                 [&](auto&&... policy) { (void)queue.wait(batch, policy...); })
            .explanation() ==
        "the event belongs to another queue: a channel that several queues share needs next_event "
        "and arm_and_poll");
}

TEST_CASE_METHOD(fixture, "operations on an empty queue or channel fail with a reason") {
  const adverb::completion_queue none;
  const std::string empty = "the completion queue is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) { (void)none.wait(batch, policy...); }).explanation() ==
        empty);
  CHECK(reported([&](auto&&... policy) {
          none.request_notification(false, policy...);
        }).explanation() == empty);
  const adverb::completion_channel silent;
  CHECK(reported([&](auto&&... policy) { (void)silent.next_event(policy...); }).explanation() ==
        "the completion channel is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(fixture, "wait and drain fail without room for completions") {
  complete(1);
  const std::span<adverb::completion> nothing;
  CHECK(reported([&](auto&&... policy) { (void)queue.wait(nothing, policy...); }).explanation() ==
        "there is no room for completions: the span is empty");
  CHECK(reported([&](auto&&... policy) {
          queue.arm_and_poll(nothing, collect(), policy...);
        }).code() == std::errc::invalid_argument);
  CHECK(order().empty());
}

TEST_CASE_METHOD(fixture, "arm_and_poll polls before and after arming") {
  for (const std::uint64_t id : ids{1, 2, 3}) complete(id);
  machine.before<called::req_notify_cq>([&] { complete(4); });
  queue.arm_and_poll(batch, collect());
  CHECK(seen == ids{1, 2, 3, 4});
  CHECK(order() == "pppapp");

  complete(5);
  CHECK(channel.next_event()->native_handle() == queue.native_handle());
  machine.before<called::req_notify_cq>([] {});
  queue.arm_and_poll(batch, collect());
  CHECK(seen == ids{1, 2, 3, 4, 5});
}

TEST_CASE_METHOD(fixture, "arm_and_poll reports a failed step and stops") {
  const auto arm = [&](auto&&... policy) { queue.arm_and_poll(batch, collect(), policy...); };
  CHECK(reported([&] { machine.fail<called::poll_cq>(EIO); }, arm).verb() == "ibv_poll_cq");
  CHECK(order() == "ppp");
  machine.forget_calls();
  CHECK(reported([&] { machine.fail<called::req_notify_cq>(EIO); }, arm).verb() ==
        "ibv_req_notify_cq");
  CHECK(order() == "papapa");
  machine.forget_calls();
  CHECK(reported([&] { machine.fail<called::poll_cq>(EIO, 2); }, arm).verb() == "ibv_poll_cq");
  CHECK(order() == "pappappap");
}

TEST_CASE_METHOD(fixture, "a completion queue reference polls and waits like its owner") {
  const adverb::completion_queue_ref reference = queue;
  complete(1);
  CHECK(ids_of(reference.poll(batch)) == ids{1});
  complete(2);
  CHECK(ids_of(reference.wait(batch)) == ids{2});
  CHECK(reference.capacity() == 16);
}

TEST_CASE_METHOD(fixture, "assigning a completion queue destroys the previous one at once",
                 "[ibv_destroy_cq]") {
  adverb::completion_queue other{context, 16};
  queue = std::move(other);
  CHECK_THAT(machine.lines<called::destroy_cq>(), is_log("ibv_destroy_cq cq0"));
}
