// SPDX-License-Identifier: MIT
// The parts of a parent domain, and their lifetimes.
#include <cstddef>
#include <cstdint>

#include <adverb/memory/imported.hpp>
#include <adverb/memory/protection_domain.hpp>

struct pool {
  adverb::provider_allocation allocate(std::size_t size, std::size_t alignment,
                                       std::uint64_t resource_type) noexcept;
  void deallocate(void* memory, std::uint64_t resource_type) noexcept;
};

void make(adverb::protection_domain& domain, adverb::thread_domain& thread, pool& memory) {
  const adverb::parent_domain both{domain, {.thread_domain = thread, .allocator = memory}};
  const adverb::protection_domain_ref reference = both;
  const adverb::parent_domain nested{reference, {}};
}

void import(const adverb::imported_protection_domain& domain, const adverb::memory_region& region) {
  const adverb::imported_memory_region imported{domain, region.handle(), region.rights(),
                                                region.device_address()};
}

#if ADVERB_MUST_FAIL == 1
// case: allocator_that_returns_a_pointer
// expect: an allocator for providers has allocate(std::size_t size, std::size_t alignment,
// std::uint64_t resource_type) noexcept, which returns a provider_allocation, and deallocate(void*,
// std::uint64_t resource_type) noexcept
struct plain {
  void* allocate(std::size_t, std::size_t, std::uint64_t) noexcept;
  void deallocate(void*, std::uint64_t) noexcept;
};
void allocator_that_returns_a_pointer(adverb::protection_domain& domain, plain& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}

// case: allocator_that_may_throw
// expect: an allocator for providers has allocate
struct throwing {
  adverb::provider_allocation allocate(std::size_t, std::size_t, std::uint64_t);
  void deallocate(void*, std::uint64_t) noexcept;
};
void allocator_that_may_throw(adverb::protection_domain& domain, throwing& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}

// case: allocator_that_keeps_all
// expect: an allocator for providers has allocate
struct keeping {
  adverb::provider_allocation allocate(std::size_t, std::size_t, std::uint64_t) noexcept;
};
void allocator_that_keeps_all(adverb::protection_domain& domain, keeping& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}

// case: allocator_that_is_a_temporary
// expect(gcc): deleted
// expect(clang): no matching constructor
void allocator_that_is_a_temporary(adverb::protection_domain& domain) {
  const adverb::parent_domain parent{domain, {.allocator = pool{}}};
}

// case: thread_domain_that_is_a_temporary
// expect(gcc): deleted
// expect(clang): no matching constructor
void thread_domain_that_is_a_temporary(adverb::context& context,
                                       adverb::protection_domain& domain) {
  const adverb::parent_domain parent{domain, {.thread_domain = adverb::thread_domain{context}}};
}

// case: domain_by_the_handle_of_a_region
// expect: no matching
void domain_by_the_handle_of_a_region(adverb::context& context,
                                      const adverb::memory_region& region) {
  const adverb::imported_protection_domain domain{context, region.handle()};
}

// case: imported_region_without_its_rights
// expect: no matching
void imported_region_without_its_rights(adverb::protection_domain& domain,
                                        const adverb::memory_region& region) {
  const adverb::imported_memory_region imported{domain, region.handle()};
}

// case: owner_of_what_is_imported
// expect(gcc): no matching
// expect(clang): no matching
void owner_of_what_is_imported(adverb::imported_protection_domain& imported) {
  const adverb::protection_domain owner{std::move(imported)};
}
#endif
