// SPDX-License-Identifier: MIT
// Memory that can be registered: it stays, and its types are copied byte by byte.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <adverb/memory/advice.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/request/requests.hpp>

void register_memory(const adverb::protection_domain& domain) {
  std::vector<int> numbers(16);
  const adverb::memory_region region{domain, numbers};
  const adverb::memory_region spanned{domain, std::span{numbers}.first(8)};
  auto shifted = adverb::memory_region::with_device_address(domain, numbers, 0);
  shifted.reregister(numbers, {.rights = adverb::access_right::local_write});
  const std::array buffers{region.buffer_of(std::span{numbers})};
  prefetch_for_writing(domain, buffers);
}

#if ADVERB_MUST_FAIL == 1
// case: temporary_memory
// expect: registered memory must outlive the region: pass a container or array that is not a
// temporary, or a std::span
void temporary_memory(const adverb::protection_domain& domain) {
  const adverb::memory_region region{domain, std::vector<int>(16)};
}

// case: temporary_memory_with_an_address
// expect: registered memory must outlive the region: pass a container or array that is not a
// temporary, or a std::span
void temporary_memory_with_an_address(const adverb::protection_domain& domain) {
  (void)adverb::memory_region::with_device_address(domain, std::vector<int>(16), 0);
}

// case: one_object
// expect: registered memory must outlive the region: pass a container or array that is not a
// temporary, or a std::span
void one_object(const adverb::protection_domain& domain, int& number) {
  const adverb::memory_region region{domain, number};
}

// case: buffer_of_a_temporary_region
// expect(gcc): use of deleted function
// expect(clang): call to deleted member function
adverb::mutable_buffer buffer_of_a_temporary_region(const adverb::protection_domain& domain,
                                                    std::vector<int>& numbers) {
  return adverb::memory_region{domain, numbers}.buffer();
}

// case: strings
// expect: registered memory holds only trivially copyable types
void strings(const adverb::protection_domain& domain, std::vector<std::string>& strings) {
  const adverb::memory_region region{domain, strings};
}

// case: strings_with_an_address
// expect: registered memory holds only trivially copyable types
void strings_with_an_address(const adverb::protection_domain& domain,
                             std::vector<std::u8string>& strings) {
  (void)adverb::memory_region::with_device_address(domain, strings, 0);
}

// case: other_memory_that_is_a_temporary
// expect: no matching
void other_memory_that_is_a_temporary(adverb::memory_region& region) {
  region.reregister(std::vector<int>(16));
}

// case: other_memory_of_strings
// expect: registered memory holds only trivially copyable types
void other_memory_of_strings(adverb::memory_region& region, std::vector<std::u16string>& strings) {
  region.reregister(strings);
}

// case: reregistration_of_a_reference
// expect: reregister
void reregistration_of_a_reference(adverb::memory_region_ref region, std::vector<int>& numbers) {
  region.reregister(numbers);
}

// case: mutable_buffer_of_const_memory
// expect: const memory cannot receive data: call const_buffer_of() to send from it
void mutable_buffer_of_const_memory(const adverb::memory_region& region,
                                    std::span<const int> numbers) {
  (void)region.buffer_of(numbers);
}

// case: const_memory_for_writing
// expect: prefetch_for_writing() needs mutable buffers
void const_memory_for_writing(const adverb::protection_domain& domain,
                              std::span<const adverb::const_buffer> buffers) {
  prefetch_for_writing(domain, buffers);
}

// case: const_memory_as_a_buffer_to_receive_into
// expect: data is received into mutable buffers, or into one std::span of them: a const_buffer is
// for sending only, and other memory must be registered
void const_memory_as_a_buffer_to_receive_into(const adverb::memory_region& region,
                                              std::span<const int> numbers) {
  (void)adverb::receive(region.const_buffer_of(numbers));
}

// case: region_in_a_temporary_domain
// expect: the protection domain must outlive the region: give it a name, protection_domain
// domain{context}
// expect(not): deleted
void region_in_a_temporary_domain(const adverb::context& context, std::vector<int>& numbers,
                                  std::error_code& code) {
  const adverb::memory_region region{adverb::protection_domain{context}, numbers, code};
}

// case: region_without_a_domain
// expect: no matching
void region_without_a_domain(const adverb::context& context, std::vector<int>& numbers) {
  const adverb::memory_region region{context, numbers};
}
#endif
