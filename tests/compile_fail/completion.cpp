// SPDX-License-Identifier: MIT
// The fields of a completion are reached only where they are valid.
#include <span>

#include <adverb/completion/completion_queue.hpp>

void use(const adverb::completion_queue& queue, std::span<adverb::completion> batch) {
  for (const adverb::completion& each : queue.poll(batch))
    if (const auto success = each.success())
      if (const auto message = success.receive()) (void)message.length();
}

#if defined(ADVERB_EXPECT_LENGTH_OF_A_FAILURE)
// expect(gcc): has no member named 'length'
// expect(clang): no member named 'length'
void fail(const adverb::completion& completion) { (void)completion.length(); }
#elif defined(ADVERB_EXPECT_IMMEDIATE_OF_A_SEND)
// expect(gcc): has no member named 'immediate'
// expect(clang): no member named 'immediate'
void fail(adverb::successful_completion completion) { (void)completion.immediate(); }
#elif defined(ADVERB_EXPECT_IGNORED_COMPLETIONS)
// expect: ignoring return value
void fail(const adverb::completion_queue& queue, std::span<adverb::completion> batch) {
  queue.poll(batch);
}
#elif defined(ADVERB_EXPECT_IGNORED_EVENT)
// expect: ignoring return value
void fail(const adverb::completion_channel& channel) { channel.next_event(); }
#elif defined(ADVERB_EXPECT_VIEW_OF_A_TEMPORARY)
// expect(clang): temporary whose address is used as value of local variable 'view'
void fail(const adverb::completion_queue& queue, std::span<adverb::completion> batch) {
  const auto view = adverb::completion{queue.poll(batch).front()}.success();
  (void)view;
}
#endif
