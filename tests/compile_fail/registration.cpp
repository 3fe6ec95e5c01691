// SPDX-License-Identifier: MIT
// What can be registered: memory that stays, of types that are copied byte by byte.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <adverb/memory/advice.hpp>
#include <adverb/memory/memory_region.hpp>

void register_memory(const adverb::protection_domain& domain) {
  std::vector<int> numbers(16);
  const adverb::memory_region region{domain, numbers};
  const adverb::memory_region spanned{domain, std::span{numbers}.first(8)};
  auto shifted = adverb::memory_region::with_device_address(domain, numbers, 0);
  shifted.reregister(numbers, {.rights = adverb::access_right::local_write});
  const std::array buffers{region.buffer_of(std::span{numbers})};
  prefetch_for_writing(domain, buffers);
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
#elif defined(ADVERB_EXPECT_OTHER_MEMORY_THAT_IS_A_TEMPORARY)
// expect: no matching
void fail(adverb::memory_region& region) { region.reregister(std::vector<int>(16)); }
#elif defined(ADVERB_EXPECT_OTHER_MEMORY_OF_STRINGS)
// expect: the device copies bytes: registered memory holds trivially copyable types
void fail(adverb::memory_region& region, std::vector<std::string>& strings) {
  region.reregister(strings);
}
#elif defined(ADVERB_EXPECT_REREGISTRATION_OF_A_REFERENCE)
// expect: reregister
void fail(adverb::memory_region_ref region, std::vector<int>& numbers) {
  region.reregister(numbers);
}
#elif defined(ADVERB_EXPECT_MUTABLE_BUFFER_OF_CONST_MEMORY)
// expect: nothing is received into const memory: const_buffer_of sends from it
void fail(const adverb::memory_region& region, std::span<const int> numbers) {
  (void)region.buffer_of(numbers);
}
#elif defined(ADVERB_EXPECT_CONST_MEMORY_FOR_WRITING)
// expect: memory is prefetched for writing through mutable buffers
void fail(const adverb::protection_domain& domain, std::span<const adverb::const_buffer> buffers) {
  prefetch_for_writing(domain, buffers);
}
#elif defined(ADVERB_EXPECT_REGION_WITHOUT_A_DOMAIN)
// expect: no matching
void fail(const adverb::context& context, std::vector<int>& numbers) {
  const adverb::memory_region region{context, numbers};
}
#endif
