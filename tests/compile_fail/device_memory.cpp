// SPDX-License-Identifier: MIT
// Copies to and from device memory, and its registration.
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

#if ADVERB_MUST_FAIL == 1
// case: stored_strings
// expect: device memory holds only trivially copyable types
void stored_strings(const adverb::device_memory& memory, const std::vector<std::string>& strings) {
  memory.store(0, strings);
}

// case: loaded_strings
// expect: device memory holds only trivially copyable types
void loaded_strings(const adverb::device_memory& memory, std::vector<std::string>& strings) {
  memory.load(0, strings);
}

// case: loaded_into_const
// expect: device memory cannot be loaded into const values
void loaded_into_const(const adverb::device_memory& memory, const std::vector<int>& numbers) {
  memory.load(0, numbers);
}

// case: region_of_a_temporary
// expect: deleted
void region_of_a_temporary(adverb::context& context, adverb::protection_domain& domain) {
  (void)adverb::memory_region::of_device_memory(domain, adverb::device_memory{context, 64});
}

// case: adoption_without_a_size
// expect: no matching
void adoption_without_a_size(ibv_dm* native) {
  const adverb::device_memory memory{adverb::adopt, native};
}
#endif
