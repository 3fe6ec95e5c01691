// SPDX-License-Identifier: MIT
// Memory whose buffers and cached regions would dangle.
#include <memory_resource>
#include <string>
#include <vector>

#include <adverb/pool.hpp>

void use(adverb::registered_resource& memory, adverb::registration_cache& cache) {
  std::pmr::vector<int> numbers(16, &memory);
  const std::pmr::vector<int>& fixed = numbers;
  [[maybe_unused]] const adverb::mutable_buffer buffer = memory.buffer_of(numbers);
  [[maybe_unused]] const adverb::const_buffer sent = memory.buffer_of(fixed);
  const adverb::cached_region region = cache.region(numbers);
}

#if ADVERB_MUST_FAIL == 1
// case: buffer_of_a_temporary
// expect: the memory must outlive the buffer: pass a container or array that is not a temporary, or
// a std::span
void buffer_of_a_temporary(adverb::registered_resource& memory) {
  memory.buffer_of(std::pmr::vector<int>(16, &memory));
}

// case: region_of_a_temporary
// expect: registered memory must outlive the region: pass a container or array that is not a
// temporary, or a std::span
void region_of_a_temporary(adverb::registration_cache& cache) {
  cache.region(std::vector<int>(16));
}

// case: buffer_of_texts
// expect: registered memory holds only trivially copyable types
void buffer_of_texts(adverb::registered_resource& memory, std::vector<std::string>& texts) {
  (void)memory.buffer_of(texts);
}
#endif
