// SPDX-License-Identifier: MIT
// A reference outlives the expression that makes it, and an owner that is about to die does not.
#include <utility>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/protection_domain.hpp>

void refer(adverb::device_ref device, adverb::context& context) {
  const adverb::context opened{device};
  const adverb::protection_domain domain{opened};
  const adverb::context_ref reference = context;
  const adverb::completion_queue queue{reference, 16};
  const adverb::completion_queue_ref to_queue = queue;
  (void)to_queue;
}

#if defined(ADVERB_EXPECT_CHILD_OF_A_TEMPORARY)
// expect: deleted
void fail(adverb::device_ref device) {
  const adverb::protection_domain domain{adverb::context{device}};
}
#elif defined(ADVERB_EXPECT_QUEUE_OF_A_TEMPORARY)
// expect: deleted
void fail(adverb::device_ref device) {
  const adverb::completion_queue queue{adverb::context{device}, 16};
}
#elif defined(ADVERB_EXPECT_REFERENCE_TO_A_TEMPORARY)
// expect: deleted
void fail(adverb::device_ref device) {
  const adverb::context_ref reference = adverb::context{device};
}
#elif defined(ADVERB_EXPECT_REFERENCE_TO_WHAT_IS_MOVED)
// expect: deleted
void fail(adverb::context& context) { const adverb::context_ref reference{std::move(context)}; }
#elif defined(ADVERB_EXPECT_CHANNEL_OF_A_TEMPORARY)
// expect(gcc): deleted
// expect(clang): no matching constructor
void fail(adverb::context_ref context) {
  const adverb::completion_queue queue{
      context, 16, {.channel = adverb::completion_channel{context}}};
}
#elif defined(ADVERB_EXPECT_REFERENCE_TO_ANOTHER_KIND)
// expect(gcc): conversion from 'const adverb::
// expect(clang): no viable conversion from 'const adverb::
void fail(const adverb::protection_domain& domain) { const adverb::context_ref reference = domain; }
#endif
