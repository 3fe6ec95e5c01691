// SPDX-License-Identifier: MIT
// What a parent domain is made of, and what outlives it.
#include <cstddef>
#include <cstdint>

#include <adverb/memory/imported.hpp>
#include <adverb/memory/parent_domain.hpp>

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

#if defined(ADVERB_EXPECT_ALLOCATOR_THAT_RETURNS_A_POINTER)
// expect: an allocator for providers has allocate(std::size_t size, std::size_t alignment,
// std::uint64_t resource_type) noexcept, which returns a provider_allocation, and deallocate(void*,
// std::uint64_t resource_type) noexcept
struct plain {
  void* allocate(std::size_t, std::size_t, std::uint64_t) noexcept;
  void deallocate(void*, std::uint64_t) noexcept;
};
void fail(adverb::protection_domain& domain, plain& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}
#elif defined(ADVERB_EXPECT_ALLOCATOR_THAT_MAY_THROW)
// expect: an allocator for providers has allocate
struct throwing {
  adverb::provider_allocation allocate(std::size_t, std::size_t, std::uint64_t);
  void deallocate(void*, std::uint64_t) noexcept;
};
void fail(adverb::protection_domain& domain, throwing& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}
#elif defined(ADVERB_EXPECT_ALLOCATOR_THAT_KEEPS_ALL)
// expect: an allocator for providers has allocate
struct keeping {
  adverb::provider_allocation allocate(std::size_t, std::size_t, std::uint64_t) noexcept;
};
void fail(adverb::protection_domain& domain, keeping& memory) {
  const adverb::parent_domain parent{domain, {.allocator = memory}};
}
#elif defined(ADVERB_EXPECT_ALLOCATOR_THAT_IS_A_TEMPORARY)
// expect(gcc): deleted
// expect(clang): no matching constructor
void fail(adverb::protection_domain& domain) {
  const adverb::parent_domain parent{domain, {.allocator = pool{}}};
}
#elif defined(ADVERB_EXPECT_THREAD_DOMAIN_THAT_IS_A_TEMPORARY)
// expect(gcc): deleted
// expect(clang): no matching constructor
void fail(adverb::context& context, adverb::protection_domain& domain) {
  const adverb::parent_domain parent{domain, {.thread_domain = adverb::thread_domain{context}}};
}
#elif defined(ADVERB_EXPECT_DOMAIN_BY_THE_HANDLE_OF_A_REGION)
// expect: no matching
void fail(adverb::context& context, const adverb::memory_region& region) {
  const adverb::imported_protection_domain domain{context, region.handle()};
}
#elif defined(ADVERB_EXPECT_IMPORTED_REGION_WITHOUT_ITS_RIGHTS)
// expect: no matching
void fail(adverb::protection_domain& domain, const adverb::memory_region& region) {
  const adverb::imported_memory_region imported{domain, region.handle()};
}
#elif defined(ADVERB_EXPECT_OWNER_OF_WHAT_IS_IMPORTED)
// expect(gcc): no matching
// expect(clang): no matching
void fail(adverb::imported_protection_domain& imported) {
  const adverb::protection_domain owner{std::move(imported)};
}
#endif
