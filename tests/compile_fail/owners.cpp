// SPDX-License-Identifier: MIT
// An owner is the only one of its object.
#include <utility>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/memory_region.hpp>

void own(adverb::protection_domain& domain, ibv_pd* native) {
  adverb::protection_domain moved = std::move(domain);
  domain = std::move(moved);
  const adverb::protection_domain adopted{adverb::adopt, native};
  ibv_pd* const released = domain.release();
  if (domain) domain.close();
  (void)released;
}

#if ADVERB_MUST_FAIL == 1
// case: copy_of_a_domain
// expect: deleted
void copy_of_a_domain(const adverb::protection_domain& domain) {
  const adverb::protection_domain copy = domain;
}

// case: copy_assignment
// expect: deleted
void copy_assignment(adverb::context& left, const adverb::context& right) { left = right; }

// case: copy_of_a_region
// expect: deleted
void copy_of_a_region(const adverb::memory_region& region) {
  const adverb::memory_region copy{region};
}

// case: copy_of_a_queue
// expect: deleted
void copy_of_a_queue(const adverb::completion_queue& queue) {
  const adverb::completion_queue copy{queue};
}

// case: queue_in_the_style_of_c
// expect: a completion queue takes (context, capacity, options, why): pass the channel, the vector
// and the user context as options, {.channel = channel}
void queue_in_the_style_of_c(const adverb::context& device) {
  const adverb::completion_queue queue{device, 16, nullptr, nullptr, 0};
}

// case: queue_of_another_queue
// expect: a completion queue takes (context, capacity, options, why): pass the channel, the vector
// and the user context as options, {.channel = channel}
void queue_of_another_queue(const adverb::context& device, const adverb::completion_queue& other) {
  const adverb::completion_queue queue{device, 16, other};
}

// case: copy_of_a_device_list
// expect: deleted
void copy_of_a_device_list(const adverb::device_list& devices) {
  const adverb::device_list copy{devices};
}

// case: adoption_without_the_tag
// expect: no matching
void adoption_without_the_tag(ibv_pd* native) { const adverb::protection_domain domain{native}; }

// case: adoption_with_braces
// expect(gcc): would use explicit constructor
// expect(clang): no matching constructor
void adoption_with_braces(ibv_pd* native) { const adverb::protection_domain domain{{}, native}; }

// case: adoption_of_another_kind
// expect: no matching
void adoption_of_another_kind(ibv_cq* native) {
  const adverb::protection_domain domain{adverb::adopt, native};
}

// case: region_without_its_rights
// expect: no matching
void region_without_its_rights(ibv_mr* native) {
  const adverb::memory_region region{adverb::adopt, native};
}

// case: owner_from_a_reference
// expect: no matching
void owner_from_a_reference(adverb::protection_domain_ref domain) {
  const adverb::protection_domain owner{domain};
}

// case: owner_as_a_number
// expect: bool
bool owner_as_a_number(const adverb::context& context) { return context; }

// case: release_into_nothing
// expect: ignoring return value
void release_into_nothing(adverb::context& context) { context.release(); }
#endif
