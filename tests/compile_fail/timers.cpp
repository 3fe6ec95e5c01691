// SPDX-License-Identifier: MIT
// A timer is a duration with a unit, and code 0 is not made by accident.
#include <chrono>

#include <adverb/core/durations.hpp>

using adverb::acknowledge_timeout;
using adverb::receiver_not_ready_timer;

void wait(acknowledge_timeout, receiver_not_ready_timer);
void set() {
  using namespace std::chrono_literals;
  wait(67ms, 640us);
  wait(acknowledge_timeout::from_code(14), receiver_not_ready_timer::from_code(12));
  wait(acknowledge_timeout::endless(), 640us);
}

#if defined(ADVERB_EXPECT_NUMBER_FOR_A_TIMEOUT)
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void fail() { const acknowledge_timeout timeout = 14; }
#elif defined(ADVERB_EXPECT_CODE_FOR_A_TIMEOUT)
// expect: private
void fail() { const acknowledge_timeout timeout{std::uint8_t{14}}; }
#elif defined(ADVERB_EXPECT_ONE_TIMER_FOR_THE_OTHER)
// expect(gcc): conversion from
// expect(clang): no viable conversion from
void fail(acknowledge_timeout timeout) { const receiver_not_ready_timer timer = timeout; }
#elif defined(ADVERB_EXPECT_ENDLESS_WAIT_FOR_A_RECEIVER)
// expect(gcc): 'endless' is not a member
// expect(clang): no member named 'endless'
void fail() { (void)receiver_not_ready_timer::endless(); }
#endif
