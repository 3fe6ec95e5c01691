// SPDX-License-Identifier: MIT
// Events are not lost, and rates and readings of a clock are no numbers.
#include <chrono>
#include <optional>

#include <adverb/device/context.hpp>
#include <adverb/queue/address.hpp>

void use(const adverb::context& context, const adverb::device_clock& clock) {
  const std::optional<adverb::async_event> event = context.next_async_event();
  const adverb::address way{.static_rate = adverb::rate::gigabits_10};
  const adverb::device_ticks now = context.device_time();
  (void)clock.elapsed<std::chrono::nanoseconds>(now, context.device_time());
  (void)event;
  (void)way;
}

#if defined(ADVERB_EXPECT_EVENT_NOT_LOOKED_AT)
// expect: ignoring return value
void fail(const adverb::context& context) { context.next_async_event(); }
#elif defined(ADVERB_EXPECT_COPY_OF_AN_EVENT)
// expect: deleted
void fail(const adverb::async_event& event) { const adverb::async_event copy{event}; }
#elif defined(ADVERB_EXPECT_EVENT_WITHOUT_THE_TAG)
// expect: no matching
void fail(ibv_context* context, const ibv_async_event& native) {
  const adverb::async_event event{context, native};
}
#elif defined(ADVERB_EXPECT_NUMBER_FOR_A_RATE)
// expect(gcc): cannot convert
// expect(clang): cannot initialize
void fail() {
  const adverb::address way{.static_rate = 3};
  (void)way;
}
#elif defined(ADVERB_EXPECT_ENUMERATOR_OF_C_FOR_A_RATE)
// expect(gcc): cannot convert
// expect(clang): cannot initialize
void fail() {
  const adverb::address way{.static_rate = IBV_RATE_10_GBPS};
  (void)way;
}
#elif defined(ADVERB_EXPECT_NUMBER_FOR_A_READING)
// expect(gcc): cannot convert
// expect(clang): no matching member function
void fail(const adverb::device_clock& clock) {
  (void)clock.elapsed<std::chrono::nanoseconds>(1, 2);
}
#elif defined(ADVERB_EXPECT_DIFFERENCE_OF_READINGS_WITHOUT_A_CLOCK)
// expect(gcc): no match for 'operator-'
// expect(clang): invalid operands to binary expression
auto fail(adverb::device_ticks from, adverb::device_ticks to) { return to - from; }
#endif
