// SPDX-License-Identifier: MIT
// What can be registered: memory that stays, of types that are copied byte by byte.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <adverb/memory/memory_region.hpp>

void register_memory(const adverb::protection_domain& domain) {
  std::vector<int> numbers(16);
  const adverb::memory_region region{domain, numbers};
  const adverb::memory_region spanned{domain, std::span{numbers}.first(8)};
  const auto shifted = adverb::memory_region::with_device_address(domain, numbers, 0);
}

#if defined(ADVERB_EXPECT_TEMPORARY_MEMORY)
// expect: no matching
void fail(const adverb::protection_domain& domain) {
  const adverb::memory_region region{domain, std::vector<int>(16)};
}
#elif defined(ADVERB_EXPECT_TEMPORARY_MEMORY_WITH_AN_ADDRESS)
// expect: no matching
void fail(const adverb::protection_domain& domain) {
  (void)adverb::memory_region::with_device_address(domain, std::vector<int>(16), 0);
}
#elif defined(ADVERB_EXPECT_ONE_OBJECT)
// expect: no matching
void fail(const adverb::protection_domain& domain, int& number) {
  const adverb::memory_region region{domain, number};
}
#elif defined(ADVERB_EXPECT_STRINGS)
// expect: the device copies bytes: registered memory holds trivially copyable types
void fail(const adverb::protection_domain& domain, std::vector<std::string>& strings) {
  const adverb::memory_region region{domain, strings};
}
#elif defined(ADVERB_EXPECT_STRINGS_WITH_AN_ADDRESS)
// expect: the device copies bytes: registered memory holds trivially copyable types
void fail(const adverb::protection_domain& domain, std::vector<std::string>& strings) {
  (void)adverb::memory_region::with_device_address(domain, strings, 0);
}
#elif defined(ADVERB_EXPECT_REGION_WITHOUT_A_DOMAIN)
// expect: no matching
void fail(const adverb::context& context, std::vector<int>& numbers) {
  const adverb::memory_region region{context, numbers};
}
#endif
