// SPDX-License-Identifier: MIT
// The fields of a completion are reached only where they are valid.
#include <span>

#include <adverb/completion/completion_queue.hpp>

void use(const adverb::completion_queue& queue, std::span<adverb::completion> batch) {
  for (const adverb::completion& each : queue.poll(batch))
    if (const auto success = each.success())
      if (const auto message = success.receive()) (void)message.length();
}

#if ADVERB_MUST_FAIL == 1
// case: length_of_a_failure
// expect(gcc): has no member named 'length'
// expect(clang): no member named 'length'
void length_of_a_failure(const adverb::completion& completion) { (void)completion.length(); }

// case: immediate_of_a_send
// expect(gcc): has no member named 'immediate'
// expect(clang): no member named 'immediate'
void immediate_of_a_send(adverb::successful_completion completion) { (void)completion.immediate(); }

// case: ignored_completions
// expect: ignoring return value
void ignored_completions(const adverb::completion_queue& queue,
                         std::span<adverb::completion> batch) {
  queue.poll(batch);
}

// case: ignored_next
// expect: the completion may be that of a failure: call .check()
void ignored_next(const adverb::completion_queue& queue) { queue.next(); }

// case: limit_of_next_without_a_unit
// expect: a timeout is a duration, which has a unit: std::chrono::milliseconds{100}
void limit_of_next_without_a_unit(const adverb::completion_queue& queue) {
  queue.next(1000).check();
}

// case: ignored_event
// expect: ignoring return value
void ignored_event(const adverb::completion_channel& channel) { channel.next_event(); }

// case: view_of_a_temporary
// expect(clang): temporary whose address is used as value of local variable 'view'
void view_of_a_temporary(const adverb::completion_queue& queue,
                         std::span<adverb::completion> batch) {
  const auto view = adverb::completion{queue.poll(batch).front()}.success();
  (void)view;
}
#endif
