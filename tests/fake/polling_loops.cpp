// SPDX-License-Identifier: MIT
// Loops over completions that stop on request: the same for both engines.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <sys/time.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "fake.hpp"

namespace {

namespace called = fake::called;
using adverb::up_to;
using std::chrono::milliseconds;
using std::chrono::seconds;
using extended = adverb::extended_completion_queue<>;
using ids = std::vector<std::uint64_t>;

template <class Queue>
struct loop_bench {
  using poll_call =
      std::conditional_t<std::same_as<Queue, extended>, called::start_poll, called::poll_cq>;

  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  Queue queue{context, 16, {.channel = channel}};
  ids seen;
  int polls_until_action = 0;

  void complete(const ids& all) {
    for (const std::uint64_t id : all) machine.complete(queue.native_handle(), completed(id));
  }
  [[nodiscard]] std::size_t left() const {
    return machine.entries(adverb::detail::plain_queue(queue.native_handle()));
  }
  [[nodiscard]] auto collect() {
    return [this](const auto& done) { seen.push_back(done.id()); };
  }
  /// Runs `action` at the nth poll from now on.
  template <class Action>
  void at_poll(int nth, const Action& action) {
    polls_until_action = nth;
    machine.before<poll_call>([this, action] {
      if (--polls_until_action == 0) action();
    });
  }
  [[nodiscard]] std::size_t polls() const { return machine.count<poll_call>(); }
};

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

TEMPLATE_TEST_CASE("A loop polls completions until its predicate returns true", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  bench.complete({1, 2, 3});
  bench.at_poll(10, [&] { bench.complete({4}); });
  CHECK(bench.queue.poll_until(up_to<2>, bench.collect(), [&] { return bench.seen.size() == 4; }) ==
        4);
  CHECK(bench.seen == ids{1, 2, 3, 4});
  CHECK(bench.left() == 0);
  CHECK(bench.machine.template count<called::req_notify_cq>() == 0);
}

TEMPLATE_TEST_CASE(
    "A stopped loop passes on the polled completions and leaves the rest in the queue", "",
    adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  bench.complete({1, 2, 3, 4, 5});
  std::atomic<bool> stopped = false;
  const auto note = [&](const auto& done) {
    bench.seen.push_back(done.id());
    stopped = true;
  };
  const auto stop = [&] { return stopped.load(); };
  CHECK(bench.queue.poll_until(up_to<2>, note, stop) == 2);
  CHECK(bench.seen == ids{1, 2});
  CHECK(bench.left() == 3);
  const std::size_t polls = bench.polls();
  CHECK(bench.queue.poll_until(up_to<2>, note, stop) == 0);
  CHECK(bench.queue.wait_until(up_to<2>, note, stop, seconds{100}) == 0);
  CHECK(bench.polls() == polls);
  stopped = false;
  CHECK(bench.queue.wait_until(up_to<2>, note, stop, seconds{100}) == 2);
  CHECK(bench.seen == ids{1, 2, 3, 4});
  CHECK(bench.left() == 1);
}

TEMPLATE_TEST_CASE("Completions left by a stopped loop stay for the next one", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  bench.complete({1, 2, 3, 4, 5});
  bool stopped = true;
  CHECK(bench.queue.poll_until(up_to<4>, bench.collect(), [&] { return stopped; }) == 0);
  bench.queue.arm_and_poll(up_to<4>, bench.collect());
  CHECK(bench.seen == ids{1, 2, 3, 4, 5});
}

TEMPLATE_TEST_CASE("An exception of the function ends a loop", "", adverb::completion_queue,
                   extended) {
  loop_bench<TestType> bench;
  bench.complete({1, 2, 3, 4, 5});
  const auto refuse_second = [&](const auto& done) {
    if (done.id() == 2) throw std::runtime_error{"second"};
    bench.seen.push_back(done.id());
  };
  CHECK_THROWS_AS(bench.queue.poll_until(up_to<3>, refuse_second, [] { return false; }),
                  std::runtime_error);
  CHECK(bench.seen == ids{1});
  // The classic engine has taken a batch off the queue, the extended one only the completions that
  // were read.
  CHECK(bench.left() == (std::same_as<TestType, extended> ? 3 : 2));
  CHECK_THROWS_AS(bench.queue.poll_until(up_to<3>, bench.collect(),
                                         []() -> bool { throw std::runtime_error{"stop"}; }),
                  std::runtime_error);
  CHECK(bench.seen == ids{1});
}

TEMPLATE_TEST_CASE("A failed poll ends a loop and is reported", "", adverb::completion_queue,
                   extended) {
  loop_bench<TestType> bench;
  const std::string verb = std::same_as<TestType, extended> ? "ibv_start_poll" : "ibv_poll_cq";
  const auto arrange = [&] {
    bench.complete({1});
    bench.machine.template fail<typename loop_bench<TestType>::poll_call>(EIO, 5);
  };
  const auto never = [] { return false; };
  CHECK(reported(arrange, [&](auto&&... policy) {
          bench.queue.poll_until(up_to<2>, bench.collect(), never, policy...);
        }).verb() == verb);
  CHECK(reported(arrange, [&](auto&&... policy) {
          bench.queue.wait_until(up_to<2>, bench.collect(), never, milliseconds{1}, policy...);
        }).verb() == verb);
  CHECK(bench.seen == ids(6, 1));
  CHECK(reported([&] { bench.machine.template fail<called::req_notify_cq>(EIO); },
                 [&](auto&&... policy) {
                   bench.queue.wait_until(up_to<2>, bench.collect(), never, seconds{1}, policy...);
                 })
            .verb() == "ibv_req_notify_cq");
}

TEMPLATE_TEST_CASE("A loop that stops at once clears the error code", "", adverb::completion_queue,
                   extended) {
  loop_bench<TestType> bench;
  std::error_code code = std::make_error_code(std::errc::io_error);
  bench.queue.poll_until(up_to<2>, bench.collect(), [] { return true; }, code);
  CHECK_FALSE(code);
}

TEMPLATE_TEST_CASE("A loop fails on an empty queue, and wait_until fails without a channel", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  const auto never = [] { return false; };
  const TestType none;
  const TestType silent{bench.context, 16};
  const std::string empty = "the completion queue is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) {
          none.poll_until(up_to<1>, bench.collect(), never, policy...);
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          none.wait_until(up_to<1>, bench.collect(), never, seconds{1}, policy...);
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          none.busy_poll(up_to<1>, bench.collect(), seconds{1}, policy...);
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          silent.wait_until(up_to<1>, bench.collect(), never, seconds{1}, policy...);
        }).explanation() == "the queue has no completion channel");
}

TEMPLATE_TEST_CASE("A sleeping loop wakes on a completion and checks its stop condition", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  // The completion comes between arming and sleeping: the sleep ends at once.
  bench.machine.template before<called::req_notify_cq>([&] {
    if (bench.seen.size() < 3) bench.complete({bench.seen.size() + 1});
  });
  CHECK(bench.queue.wait_until(
            up_to<4>, bench.collect(), [&] { return bench.seen.size() == 3; }, seconds{100}) == 3);
  CHECK(bench.seen == ids{1, 2, 3});
}

TEMPLATE_TEST_CASE("A sleeping loop checks its stop condition after each interval", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  int asked = 0;
  const auto start = std::chrono::steady_clock::now();
  CHECK(bench.queue.wait_until(
            up_to<4>, bench.collect(), [&] { return ++asked == 4; }, milliseconds{5}) == 0);
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds{15});
  // It left the queue armed: nothing that comes later is slept over.
  bench.complete({1});
  CHECK(bench.channel.has_event());
}

TEMPLATE_TEST_CASE("A signal ends a sleeping loop at once", "", adverb::completion_queue,
                   extended) {
  loop_bench<TestType> bench;
  interrupted = 0;
  struct sigaction before{};
  struct sigaction handling{};
  handling.sa_handler = [](int) { interrupted = 1; };
  REQUIRE(::sigaction(SIGALRM, &handling, &before) == 0);
  // Again and again, so that one which comes before the sleep is not the last.
  const itimerval soon{{0, 20'000}, {0, 20'000}};
  REQUIRE(::setitimer(ITIMER_REAL, &soon, nullptr) == 0);
  const auto start = std::chrono::steady_clock::now();
  CHECK(bench.queue.wait_until(
            up_to<4>, bench.collect(), [] { return interrupted != 0; }, seconds{100}) == 0);
  CHECK(std::chrono::steady_clock::now() - start < seconds{50});
  interrupted = 0;
  CHECK(bench.queue.poll_until(up_to<4>, bench.collect(), [] { return interrupted != 0; }) == 0);
  const itimerval off{};
  REQUIRE(::setitimer(ITIMER_REAL, &off, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
}

TEMPLATE_TEST_CASE("busy_poll with a timeout of zero polls once", "", adverb::completion_queue,
                   extended) {
  loop_bench<TestType> bench;
  CHECK(bench.queue.busy_poll(up_to<2>, bench.collect(), seconds{0}) == 0);
  CHECK(bench.polls() == 1);
  bench.complete({1, 2, 3});
  CHECK(bench.queue.busy_poll(up_to<2>, bench.collect(), seconds{0}) == 2);
  CHECK(bench.polls() == 2);
  bench.at_poll(50, [&] { bench.complete({4}); });
  CHECK(bench.queue.busy_poll(up_to<2>, bench.collect(), seconds{100}) == 1);
  CHECK(bench.queue.busy_poll(up_to<2>, bench.collect(), seconds{100}) == 1);
  CHECK(bench.seen == ids{1, 2, 3, 4});
}

TEMPLATE_TEST_CASE("Both engines poll up to a limit through the same calls", "",
                   adverb::completion_queue, extended) {
  loop_bench<TestType> bench;
  const auto& queue = bench.queue;
  bench.complete({1, 2, 3, 4, 5, 6});
  CHECK(queue.poll(up_to<2>, bench.collect()) == 2);
  CHECK(queue.wait(up_to<1>, bench.collect()) == 1);
  CHECK(queue.wait(up_to<2>, bench.collect(), seconds{1}) == 2);
  queue.arm_and_poll(up_to<4>, bench.collect());
  CHECK(bench.seen == ids{1, 2, 3, 4, 5, 6});
  CHECK(queue.poll(up_to<2>, bench.collect()) == 0);
  CHECK(queue.wait(up_to<2>, bench.collect(), milliseconds{1}) == 0);
  CHECK(
      reported([&] { bench.machine.template fail<typename loop_bench<TestType>::poll_call>(EIO); },
               [&](auto&&... policy) { queue.poll(up_to<2>, bench.collect(), policy...); })
          .code() == std::errc::io_error);
}

TEST_CASE("The classic loops poll into the span of the caller") {
  loop_bench<adverb::completion_queue> bench;
  bench.complete({1, 2, 3});
  std::array<adverb::completion, 2> batch;
  std::vector<const adverb::completion*> places;
  const auto note = [&](const adverb::completion& done) { places.push_back(&done); };
  CHECK(bench.queue.poll_until(batch, note, [&] { return places.size() == 3; }) == 3);
  CHECK(places == std::vector<const adverb::completion*>{&batch[0], &batch[1], &batch[0]});
  bench.complete({4});
  CHECK(bench.queue.wait_until(batch, note, [&] { return places.size() == 4; }, seconds{1}) == 1);
  CHECK(places.back() == &batch[0]);
  bench.complete({5, 6, 7});
  CHECK(bench.queue.poll(batch, bench.collect()) == 2);
  CHECK(bench.queue.wait(batch, bench.collect(), seconds{1}) == 1);
  bench.complete({8, 9});
  CHECK(bench.queue.wait(batch, bench.collect()) == 2);
  CHECK(bench.queue.busy_poll(batch, bench.collect(), milliseconds{1}) == 0);
  CHECK(bench.seen == ids{5, 6, 7, 8, 9});
  const auto never = [] { return false; };
  const std::span<adverb::completion> nothing;
  CHECK(reported([&](auto&&... policy) {
          bench.queue.poll_until(nothing, note, never, policy...);
        }).explanation() == "there is no room for completions: the span is empty");
  CHECK(reported([&](auto&&... policy) {
          bench.queue.wait_until(nothing, note, never, seconds{1}, policy...);
        }).explanation() == "there is no room for completions: the span is empty");
}

TEST_CASE("The extended loops take a limit at run time") {
  loop_bench<extended> bench;
  bench.complete({1, 2, 3});
  std::size_t limit = 2;
  CHECK(bench.queue.poll_until(limit, bench.collect(), [&] { return !bench.seen.empty(); }) == 2);
  CHECK(bench.queue.poll(limit, bench.collect()) == 1);
  CHECK(bench.seen == ids{1, 2, 3});
  limit = 0;
  const auto never = [] { return false; };
  CHECK(reported([&](auto&&... policy) {
          bench.queue.poll_until(limit, bench.collect(), never, policy...);
        }).explanation() == "no completion can be polled: the limit is 0");
}
