// SPDX-License-Identifier: MIT
// A timer is a duration with a unit, and code 0 is not made by accident.
#include <chrono>

#include <adverb/core/durations.hpp>

using adverb::acknowledge_timeout;
using adverb::rnr_timer;

void wait(acknowledge_timeout, rnr_timer);
void set() {
  using namespace std::chrono_literals;
  wait(67ms, 640us);
  wait(acknowledge_timeout::from_code(14), rnr_timer::from_code(12));
  wait(acknowledge_timeout::endless(), 640us);
}

#if ADVERB_MUST_FAIL == 1
// case: number_for_a_timeout
// expect(gcc): conversion from 'int' to non-scalar type
// expect(clang): no viable conversion from 'int'
void number_for_a_timeout() { const acknowledge_timeout timeout = 14; }

// case: code_for_a_timeout
// expect: private
void code_for_a_timeout() { const acknowledge_timeout timeout{std::uint8_t{14}}; }

// case: one_timer_for_the_other
// expect(gcc): conversion from
// expect(clang): no viable conversion from
void one_timer_for_the_other(acknowledge_timeout timeout) { const rnr_timer timer = timeout; }

// case: endless_wait_for_a_receiver
// expect(gcc): 'endless' is not a member
// expect(clang): no member named 'endless'
void endless_wait_for_a_receiver() { (void)rnr_timer::endless(); }
#endif
