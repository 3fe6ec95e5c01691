// SPDX-License-Identifier: MIT
// Events are not lost, and rates and readings of a clock are no numbers.
#include <chrono>
#include <optional>

#include <adverb/device/context.hpp>
#include <adverb/request/address.hpp>

void use(const adverb::context& context, const adverb::device_clock& clock) {
  const std::optional<adverb::async_event> event = context.next_async_event();
  const adverb::address way{.static_rate = adverb::rate::gigabits_10};
  const adverb::device_ticks now = context.device_time();
  (void)clock.elapsed<std::chrono::nanoseconds>(now, context.device_time());
  (void)event;
  (void)way;
}

#if ADVERB_MUST_FAIL == 1
// case: event_not_looked_at
// expect: ignoring return value
void event_not_looked_at(const adverb::context& context) { context.next_async_event(); }

// case: copy_of_an_event
// expect: deleted
void copy_of_an_event(const adverb::async_event& event) { const adverb::async_event copy{event}; }

// case: event_without_the_tag
// expect: no matching
void event_without_the_tag(ibv_context* context, const ibv_async_event& native) {
  const adverb::async_event event{context, native};
}

// case: number_for_a_rate
// expect(gcc): cannot convert
// expect(clang): cannot initialize
void number_for_a_rate() {
  const adverb::address way{.static_rate = 3};
  (void)way;
}

// case: enumerator_of_c_for_a_rate
// expect(gcc): cannot convert
// expect(clang): cannot initialize
void enumerator_of_c_for_a_rate() {
  const adverb::address way{.static_rate = IBV_RATE_10_GBPS};
  (void)way;
}

// case: number_for_a_reading
// expect(gcc): cannot convert
// expect(clang): no matching member function
void number_for_a_reading(const adverb::device_clock& clock) {
  (void)clock.elapsed<std::chrono::nanoseconds>(1, 2);
}

// case: difference_of_readings_without_a_clock
// expect(gcc): no match for 'operator-'
// expect(clang): invalid operands to binary expression
auto difference_of_readings_without_a_clock(adverb::device_ticks from, adverb::device_ticks to) {
  return to - from;
}
#endif
