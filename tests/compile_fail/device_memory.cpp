// SPDX-License-Identifier: MIT
// What can be copied to and from device memory, and registered of it.
#include <array>
#include <string>
#include <vector>

#include <adverb/memory/memory_region.hpp>

void use(adverb::context& context, adverb::protection_domain& domain) {
  const adverb::device_memory memory{context, 4096, {.alignment = 8}};
  std::array<int, 4> numbers{};
  memory.store(0, numbers);
  memory.store(0, std::vector<int>(4));
  memory.load(0, numbers);
  const auto region = adverb::memory_region::of_device_memory(domain, memory);
}

#if defined(ADVERB_EXPECT_STORED_STRINGS)
// expect: the device copies bytes: its memory holds trivially copyable types
void fail(const adverb::device_memory& memory, const std::vector<std::string>& strings) {
  memory.store(0, strings);
}
#elif defined(ADVERB_EXPECT_LOADED_STRINGS)
// expect: the device copies bytes: its memory holds trivially copyable types
void fail(const adverb::device_memory& memory, std::vector<std::string>& strings) {
  memory.load(0, strings);
}
#elif defined(ADVERB_EXPECT_LOADED_INTO_CONST)
// expect: device memory cannot be loaded into what is const
void fail(const adverb::device_memory& memory, const std::vector<int>& numbers) {
  memory.load(0, numbers);
}
#elif defined(ADVERB_EXPECT_REGION_OF_A_TEMPORARY)
// expect: deleted
void fail(adverb::context& context, adverb::protection_domain& domain) {
  (void)adverb::memory_region::of_device_memory(domain, adverb::device_memory{context, 64});
}
#elif defined(ADVERB_EXPECT_ADOPTION_WITHOUT_A_SIZE)
// expect: no matching
void fail(ibv_dm* native) { const adverb::device_memory memory{adverb::adopt, native}; }
#endif
