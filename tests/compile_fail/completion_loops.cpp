// SPDX-License-Identifier: MIT
// The loops over completions, of either engine, say what they have to be given.
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
  const auto spans = [](std::span<completion> found) { found[0].check(); };
  const auto each = [](const auto& done) { done.check(); };
  const auto stop = [&] { return stopped; };
  classic.poll_until(batch, spans, stop);
  classic.wait_until(batch, spans, stop, milliseconds{100});
  classic.poll_until(up_to<4>, each, stop);
  extended.poll_until(4, each, stop);
  extended.wait_until(4, each, stop, milliseconds{100});
  either.visit([&](const auto& queue) { queue.poll_until(up_to<4>, each, stop); });
#if defined(ADVERB_EXPECT_CLASSIC_TIMEOUT_WITHOUT_A_UNIT)
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  (void)classic.wait(batch, 100);
#elif defined(ADVERB_EXPECT_EXTENDED_TIMEOUT_WITHOUT_A_UNIT)
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  extended.wait(4, each, 100);
#elif defined(ADVERB_EXPECT_CLASSIC_BUSY_POLL_WITHOUT_A_UNIT)
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  (void)classic.busy_poll(batch, 100);
#elif defined(ADVERB_EXPECT_EXTENDED_BUSY_POLL_WITHOUT_A_UNIT)
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  extended.busy_poll(4, each, 0.5);
#elif defined(ADVERB_EXPECT_INTERVAL_WITHOUT_A_UNIT)
  // expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
  // expect(not): duration_like
  classic.wait_until(batch, spans, stop, 100);
#elif defined(ADVERB_EXPECT_CLASSIC_STOP_BEFORE_CONSUME)
  // expect: completions are handed over as spans, before the condition to stop: give a function
  // that takes a std::span<completion>
  classic.poll_until(batch, stop, spans);
#elif defined(ADVERB_EXPECT_EXTENDED_STOP_BEFORE_CONSUME)
  // expect: each completion is handed over by itself, before the timeout or the condition to stop:
  // give a function that takes a const auto&
  extended.poll_until(4, stop, each);
#elif defined(ADVERB_EXPECT_TIMEOUT_BEFORE_CONSUME)
  // expect: each completion is handed over by itself, before the timeout or the condition to stop:
  // give a function that takes a const auto&
  extended.wait(4, milliseconds{100}, each);
#elif defined(ADVERB_EXPECT_EXTENDED_DRAINED_AS_SPANS)
  // expect: each completion is handed over by itself, before the timeout or the condition to stop:
  // give a function that takes a const auto&
  extended.arm_and_drain(4, spans);
#elif defined(ADVERB_EXPECT_CLASSIC_DRAINED_ONE_BY_ONE)
  // expect: completions are handed over as spans, before the condition to stop: give a function
  // that takes a std::span<completion>
  classic.arm_and_drain(batch, [](const completion& done) { done.check(); });
#elif defined(ADVERB_EXPECT_UP_TO_TAKES_NO_SPANS)
  // expect: each completion is handed over by itself, before the timeout or the condition to stop:
  // give a function that takes a const auto&
  classic.poll_until(up_to<4>, spans, stop);
#elif defined(ADVERB_EXPECT_FLAG_AS_CONDITION)
  // expect: say when to stop by a function without parameters that returns a bool: [&] { return
  // stopped.load(); }
  classic.poll_until(batch, spans, stopped);
#elif defined(ADVERB_EXPECT_TIME_AS_CONDITION)
  // expect: say when to stop by a function without parameters that returns a bool: [&] { return
  // stopped.load(); }
  extended.poll_until(4, each, milliseconds{100});
#elif defined(ADVERB_EXPECT_CONDITION_WITHOUT_A_RESULT)
  // expect: say when to stop by a function without parameters that returns a bool: [&] { return
  // stopped.load(); }
  extended.wait_until(4, each, [] {}, milliseconds{100});
#elif defined(ADVERB_EXPECT_UP_TO_NOTHING)
  // expect: at least one completion has to be taken at a time
  classic.poll(up_to<0>, each);
#elif defined(ADVERB_EXPECT_EITHER_OF_A_TEMPORARY)
  // expect: deleted
  const completion_queue_ref reference = either_completion_queue<>{};
  (void)reference;
#elif defined(ADVERB_EXPECT_COPIED_EITHER)
  // expect: deleted
  const either_completion_queue<> copy = either;
#elif defined(ADVERB_EXPECT_VISITOR_OF_ONE_ENGINE)
  // expect: the function is called with the extended engine or with the classic one: take a const
  // auto&
  either.visit([](extended_completion_queue_ref<> queue) { queue.request_notification(); });
#elif defined(ADVERB_EXPECT_VISITOR_OF_TWO_RESULTS)
  // expect: the function has to return the same type for both engines
  either.visit([](const auto& queue) { return queue; });
#endif
}
