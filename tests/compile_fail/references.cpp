// SPDX-License-Identifier: MIT
// A reference outlives the expression that makes it, and an owner that is about to die does not.
#include <string_view>
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

#if ADVERB_MUST_FAIL == 1
// case: child_of_a_temporary
// expect: deleted
void child_of_a_temporary(adverb::device_ref device) {
  const adverb::protection_domain domain{adverb::context{device}};
}

// case: queue_of_a_temporary
// expect: deleted
void queue_of_a_temporary(adverb::device_ref device) {
  const adverb::completion_queue queue{adverb::context{device}, 16};
}

// case: reference_to_a_temporary
// expect: deleted
void reference_to_a_temporary(adverb::device_ref device) {
  const adverb::context_ref reference = adverb::context{device};
}

// case: reference_to_what_is_moved
// expect: deleted
void reference_to_what_is_moved(adverb::context& context) {
  const adverb::context_ref reference{std::move(context)};
}

// case: channel_of_a_temporary
// expect(gcc): deleted
// expect(clang): no matching constructor
void channel_of_a_temporary(adverb::context_ref context) {
  const adverb::completion_queue queue{
      context, 16, {.channel = adverb::completion_channel{context}}};
}

// case: reference_to_another_kind
// expect(gcc): conversion from 'const adverb::
// expect(clang): no viable conversion from 'const adverb::
void reference_to_another_kind(const adverb::protection_domain& domain) {
  const adverb::context_ref reference = domain;
}

// case: explanation_of_a_temporary
// expect(clang): temporary whose address is used as value of local variable 'words'
void explanation_of_a_temporary(adverb::failure (*why)()) {
  [[maybe_unused]] const std::string_view words = why().explanation();
}
#endif
