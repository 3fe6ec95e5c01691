// SPDX-License-Identifier: MIT
// Completion queues with options, resized, moderated, and waited on for a time.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <adverb/completion/completion_queue.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using std::chrono::duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::completion_queue queue{context, 16, {.channel = channel}};
  std::array<adverb::completion, 2> batch;

  void complete(std::uint64_t id) {
    ibv_wc native{};
    native.wr_id = id;
    machine.complete(queue.native_handle(), native);
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a failed creation names a channel of another context",
                 "[ibv_create_cq]") {
  const adverb::context again = adverb::open_device();
  CHECK(reported([&] { machine.fail<called::create_cq>(EBADF); },
                 [&](auto&&... policy) {
                   const adverb::completion_queue made{again, 16, {.channel = channel}, policy...};
                 })
            .explanation() == "the channel belongs to another context (of fake0)");
}

TEST_CASE_METHOD(fixture, "options of the extended verb create a classic queue by ibv_create_cq_ex",
                 "[ibv_create_cq_ex]") {
  int user = 0;
  machine.name("user", user);
  const adverb::protection_domain domain{context};
  const adverb::completion_queue made{context,
                                      10,
                                      {.channel = channel,
                                       .vector = 3,
                                       .user_context = &user,
                                       .single_threaded = true,
                                       .parent_domain = domain}};
  CHECK(made.capacity() == 16);
  CHECK(made.poll(batch).empty());
  const adverb::completion_queue overrun{context, 10, {.ignore_overrun = true}};
  CHECK_THAT((machine.lines<called::create_cq, called::create_cq_ex>()), is_log(R"(
    ibv_create_cq ctx0 cqe=16 channel=channel0
    ibv_create_cq_ex ctx0 cqe=10 cq_context=user channel=channel0 comp_vector=3 wc_flags=STANDARD
      flags=SINGLE_THREADED parent_domain=pd0
    ibv_create_cq_ex ctx0 cqe=10 wc_flags=STANDARD flags=IGNORE_OVERRUN)"));
}

TEST_CASE_METHOD(fixture,
                 "extended options fail with a reason on a device without the extended verb") {
  machine.devices[0].extended_completion_queues = false;
  const adverb::failure why = reported([&](auto&&... policy) {
    const adverb::completion_queue made{context, 16, {.single_threaded = true}, policy...};
    CHECK_FALSE(made);
  });
  CHECK(std::string{why.what()} ==
        "ibv_create_cq_ex on fake0: EOPNOTSUPP (Operation not supported); "
        "fake0 has no extended completion queues, or none of this kind");
}

TEST_CASE_METHOD(fixture, "a queue is resized up and down", "[ibv_resize_cq]") {
  queue.resize(100);
  CHECK(queue.capacity() == 128);
  CHECK(machine.line() == "ibv_resize_cq cq0 cqe=100");
  queue.resize(3);
  CHECK(queue.capacity() == 4);
}

TEST_CASE_METHOD(fixture, "a refused resize fails with a reason and changes nothing",
                 "[ibv_resize_cq]") {
  const auto refusal = [&](std::size_t capacity) {
    const adverb::failure why =
        reported([&](auto&&... policy) { queue.resize(capacity, policy...); });
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.object() == "fake0 cq 1");
    CHECK(queue.capacity() == 16);
    return std::string{why.explanation()};
  };
  CHECK(refusal(0) == "a completion queue needs room for at least one completion");
  CHECK(refusal(40000) == "40000 entries were requested, the device allows 32768");
  CHECK(refusal(std::size_t{1} << 40) ==
        "1099511627776 entries were requested, the device allows 32768");
  CHECK(machine.line<called::resize_cq>() == "ibv_resize_cq cq0 cqe=2147483647");
  for (std::uint64_t id = 0; id < 5; ++id) complete(id);
  CHECK(refusal(4) == "the queue may hold more than 4 completions: poll them first");
}

TEST_CASE_METHOD(fixture, "an unsupported or failed resize is reported") {
  const auto resize = [&](auto&&... policy) { queue.resize(100, policy...); };
  CHECK(std::string{reported([&] { machine.fail<called::resize_cq>(ENOSYS); }, resize).what()} ==
        "ibv_resize_cq on fake0 cq 1: ENOSYS (Function not implemented); "
        "fake0 has no completion queues that can be resized");
  CHECK(std::string{reported([&] { machine.fail<called::resize_cq>(ENOMEM); }, resize).what()} ==
        "ibv_resize_cq on fake0 cq 1: ENOMEM (Cannot allocate memory)");
  const adverb::completion_queue none;
  CHECK(reported([&](auto&&... policy) { none.resize(1, policy...); }).explanation() ==
        "the completion queue is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(fixture, "moderate accepts a count and any duration, rounded up",
                 "[ibv_modify_cq]") {
  machine.devices[0].extended.cq_mod_caps = {65535, 65535};
  machine.forget_calls();
  queue.moderate(16, microseconds{250});
  queue.moderate(65535, nanoseconds{1});
  queue.moderate(0, milliseconds{65});
  queue.moderate(1, duration<double>{2.5e-6});
  queue.moderate(1, seconds{0});
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_modify_cq cq0 cq_count=16 cq_period=250
    ibv_modify_cq cq0 cq_count=65535 cq_period=1
    ibv_modify_cq cq0 cq_count=0 cq_period=65000
    ibv_modify_cq cq0 cq_count=1 cq_period=3
    ibv_modify_cq cq0 cq_count=1 cq_period=0)"));
}

TEST_CASE_METHOD(fixture, "moderate beyond the device's limits fails and names them",
                 "[ibv_modify_cq]") {
  machine.devices[0].extended.cq_mod_caps = {100, 50};
  const auto refusal = [&](std::uint32_t count, microseconds period) {
    return std::string{
        reported([&](auto&&... policy) { queue.moderate(count, period, policy...); }).what()};
  };
  const std::string head = "ibv_modify_cq on fake0 cq 1: EINVAL (Invalid argument); ";
  CHECK(refusal(101, microseconds{51}) ==
        head +
            "the number of completions is 101, the device allows 100; "
            "the period in microseconds is 51, the device allows 50");
  CHECK(refusal(1, microseconds{51}) ==
        head + "the period in microseconds is 51, the device allows 50");
  CHECK(refusal(100, microseconds{51}) ==
        head + "the period in microseconds is 51, the device allows 50");
  const std::size_t before = machine.count<called::modify_cq>();
  const std::string beyond = "moderation takes at most 65535 completions and 65535 microseconds";
  CHECK(refusal(65536, microseconds{1}) == head + beyond);
  CHECK(refusal(1, microseconds{65536}) == head + beyond);
  CHECK(refusal(1, microseconds{-1}) == head + beyond);
  CHECK(machine.count<called::modify_cq>() == before);
}

TEST_CASE_METHOD(fixture, "moderation fails with a reason on a device without it") {
  CHECK(std::string{reported([&](auto&&... policy) {
                      queue.moderate(1, microseconds{1}, policy...);
                    }).what()} ==
        "ibv_modify_cq on fake0 cq 1: EOPNOTSUPP (Operation not supported); "
        "fake0 has no completion moderation");
  const adverb::completion_queue none;
  CHECK(reported([&](auto&&... policy) {
          none.moderate(1, microseconds{1}, policy...);
        }).explanation() == "the completion queue is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(fixture, "wait with a timeout returns completions that arrive in time") {
  complete(1);
  CHECK(queue.wait(batch, seconds{0}).size() == 1);
  machine.before<called::req_notify_cq>([&] { complete(2); });
  CHECK(queue.wait(batch, seconds{0}).size() == 1);
}

TEST_CASE_METHOD(fixture, "wait ends at its timeout without an error and leaves the queue armed") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  const auto start = std::chrono::steady_clock::now();
  CHECK(queue.wait(batch, milliseconds{20}, code).empty());
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds{20});
  CHECK_FALSE(code);
  CHECK(machine.count<called::get_cq_event>() == 0);
  complete(7);
  REQUIRE(channel.has_event());
  CHECK(queue.wait(batch, milliseconds{20}).size() == 1);
  CHECK(queue.wait(batch, milliseconds{-1}).empty());
}

TEST_CASE_METHOD(fixture,
                 "an event without a completion does not end the wait before its timeout") {
  machine.announce(queue.native_handle());
  const auto start = std::chrono::steady_clock::now();
  CHECK(queue.wait(batch, milliseconds{20}).empty());
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds{20});
  CHECK(machine.count<called::get_cq_event>() == 1);
}

TEST_CASE_METHOD(fixture, "wait accepts a timeout that exceeds the range of the clock") {
  machine.announce(queue.native_handle());
  machine.before<called::get_cq_event>([&] { complete(7); });
  CHECK(queue.wait(batch, duration<double>{1e300}).size() == 1);
  CHECK(machine.count<called::get_cq_event>() == 1);
}

TEST_CASE_METHOD(fixture, "wait with a timeout reports a failure") {
  CHECK(reported([&] { machine.fail<called::req_notify_cq>(EIO); },
                 [&](auto&&... policy) { (void)queue.wait(batch, seconds{1}, policy...); })
            .verb() == "ibv_req_notify_cq");
}

TEST_CASE_METHOD(fixture, "busy_poll returns completions that arrive, or none at its timeout") {
  int polls = 0;
  machine.before<called::poll_cq>([&] {
    if (++polls == 100) complete(7);
  });
  CHECK(queue.busy_poll(batch, seconds{100}).size() == 1);
  CHECK(polls == 100);
  CHECK(queue.busy_poll(batch, milliseconds{1}).empty());
  CHECK(machine.count<called::req_notify_cq>() == 0);
  CHECK(reported([&] { machine.fail<called::poll_cq>(EIO); },
                 [&](auto&&... policy) { (void)queue.busy_poll(batch, seconds{1}, policy...); })
            .verb() == "ibv_poll_cq");
  CHECK(reported([&](auto&&... policy) {
          (void)queue.busy_poll({}, seconds{1}, policy...);
        }).explanation() == "there is no room for completions: the span is empty");
}
