// SPDX-License-Identifier: MIT
// The loops over completions, of either engine, name their required arguments in errors.
#include <array>
#include <chrono>
#include <span>

#include <adverb/adverb.hpp>

using namespace adverb;
using std::chrono::milliseconds;

[[maybe_unused]] static void use(const completion_queue& classic,
                                 const extended_completion_queue<>& extended,
                                 const either_completion_queue<>& either, bool& stopped) {
  std::array<completion, 4> batch;
  [[maybe_unused]] const auto spans = [](std::span<completion> found) { found[0].check(); };
  const auto each = [](const auto& done) { done.check(); };
  const auto stop = [&] { return stopped; };
  classic.poll_until(batch, each, stop);
  classic.wait_until(batch, each, stop, milliseconds{100});
  classic.poll_until(up_to<4>, each, stop);
  extended.poll_until(4, each, stop);
  extended.wait_until(4, each, stop, milliseconds{100});
  either.visit([&](const auto& queue) { queue.poll_until(up_to<4>, each, stop); });
#if ADVERB_MUST_FAIL == 1
  // The numbers have different types: an instantiation fails once in a section.

  // case: classic_timeout_without_a_unit
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  (void)classic.wait(batch, 100);

  // case: extended_timeout_without_a_unit
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  extended.wait(4, each, 100L);

  // case: classic_busy_poll_without_a_unit
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  (void)classic.busy_poll(batch, 100U);

  // case: extended_busy_poll_without_a_unit
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  extended.busy_poll(4, each, 0.5);

  // case: classic_stop_before_consume
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  classic.poll_until(batch, stop, each);

  // case: extended_stop_before_consume
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  extended.poll_until(4, stop, each);

  // case: timeout_before_consume
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  extended.wait(4, milliseconds{100}, each);

  // case: extended_drained_as_spans
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  extended.arm_and_poll(4, spans);

  // case: classic_drained_as_spans
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  classic.arm_and_poll(batch, spans);

  // case: classic_queue_with_a_number
  // expect: a classic completion queue polls into memory: pass up_to<16>, or a span of completions
  classic.poll_until(4, each, stop);

  // case: extended_queue_with_a_span
  // expect: an extended completion queue polls one by one: pass up_to<16>, or a maximum number of
  // completions
  extended.poll_until(batch, each, stop);

  // case: classic_timeout_before_consume
  // expect: the function must take one completion, and precede the timeout and the stop condition:
  // take a const auto&
  classic.wait(up_to<4>, milliseconds{200}, each);

  // case: flag_as_condition
  // expect: the stop condition must be a function without parameters that returns a bool: [&] {
  // return stopped.load(); }
  classic.poll_until(batch, each, stopped);

  // case: time_as_condition
  // expect: the stop condition must be a function without parameters that returns a bool: [&] {
  // return stopped.load(); }
  extended.poll_until(4, each, milliseconds{100});

  // case: condition_without_a_result
  // expect: the stop condition must be a function without parameters that returns a bool: [&] {
  // return stopped.load(); }
  extended.wait_until(4, each, [] {}, milliseconds{100});

  // case: either_of_a_temporary
  // expect: deleted
  {
    const completion_queue_ref reference = either_completion_queue<>{};
    (void)reference;
  }

  // case: copied_either
  // expect: deleted
  const either_completion_queue<> copy = either;

  // case: visitor_of_one_engine
  // expect: the function must accept both the extended and the classic engine: take a const auto&
  either.visit([](extended_completion_queue_ref<> queue) { queue.request_notification(); });

  // case: visitor_of_two_results
  // expect: the function must return the same type for both engines
  either.visit([](const auto& queue) { return queue; });

#elif ADVERB_MUST_FAIL == 2
  // Beside this case, GCC 11 leaves out the errors of busy_poll.

  // case: interval_without_a_unit
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  classic.wait_until(batch, each, stop, 100);

#elif ADVERB_MUST_FAIL == 3
  // GCC does not print where a variable template is used.

  // case: up_to_nothing
  // expect: a poll takes at least one completion
  classic.poll(up_to<0>, each);
#endif
}
