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

#if defined(ADVERB_EXPECT_COPY_OF_A_DOMAIN)
// expect: deleted
void fail(const adverb::protection_domain& domain) {
  const adverb::protection_domain copy = domain;
}
#elif defined(ADVERB_EXPECT_COPY_ASSIGNMENT)
// expect: deleted
void fail(adverb::context& left, const adverb::context& right) { left = right; }
#elif defined(ADVERB_EXPECT_COPY_OF_A_REGION)
// expect: deleted
void fail(const adverb::memory_region& region) { const adverb::memory_region copy{region}; }
#elif defined(ADVERB_EXPECT_COPY_OF_A_QUEUE)
// expect: deleted
void fail(const adverb::completion_queue& queue) { const adverb::completion_queue copy{queue}; }
#elif defined(ADVERB_EXPECT_COPY_OF_A_DEVICE_LIST)
// expect: deleted
void fail(const adverb::device_list& devices) { const adverb::device_list copy{devices}; }
#elif defined(ADVERB_EXPECT_ADOPTION_WITHOUT_THE_TAG)
// expect: no matching
void fail(ibv_pd* native) { const adverb::protection_domain domain{native}; }
#elif defined(ADVERB_EXPECT_ADOPTION_WITH_BRACES)
// expect(gcc): would use explicit constructor
// expect(clang): no matching constructor
void fail(ibv_pd* native) { const adverb::protection_domain domain{{}, native}; }
#elif defined(ADVERB_EXPECT_ADOPTION_OF_ANOTHER_KIND)
// expect: no matching
void fail(ibv_cq* native) { const adverb::protection_domain domain{adverb::adopt, native}; }
#elif defined(ADVERB_EXPECT_REGION_WITHOUT_ITS_RIGHTS)
// expect: no matching
void fail(ibv_mr* native) { const adverb::memory_region region{adverb::adopt, native}; }
#elif defined(ADVERB_EXPECT_OWNER_FROM_A_REFERENCE)
// expect: no matching
void fail(adverb::protection_domain_ref domain) { const adverb::protection_domain owner{domain}; }
#elif defined(ADVERB_EXPECT_OWNER_AS_A_NUMBER)
// expect: bool
bool fail(const adverb::context& context) { return context; }
#elif defined(ADVERB_EXPECT_RELEASE_INTO_NOTHING)
// expect: ignoring return value
void fail(adverb::context& context) { context.release(); }
#endif
