// SPDX-License-Identifier: MIT
// A custom allocator for the queue memory of a provider.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The answer of an allocator to a provider: memory, a failure, or a request to allocate as usual.
class provider_allocation {
 public:
  /// Answers with `memory`; null means that there is none.
  constexpr explicit provider_allocation(void* memory) noexcept : memory_{memory} {}
  /// Answers that there is no memory.
  [[nodiscard]] static constexpr provider_allocation failed() noexcept {
    return provider_allocation{nullptr};
  }
  /// Answers that the provider is to allocate by itself.
  [[nodiscard]] static provider_allocation use_default() noexcept {
    return provider_allocation{IBV_ALLOCATOR_USE_DEFAULT};
  }

  /// Returns the pointer for the C API.
  [[nodiscard]] constexpr void* native() const noexcept { return memory_; }

 private:
  void* memory_;
};

/// An object that allocates memory for a provider. `allocate` gets a size and an alignment in
/// bytes, and the purpose of the memory (a number of the provider's own; the upper half names the
/// driver). The memory must be zeroed, and must not be copied on write after a fork: use anonymous
/// shared memory or madvise(MADV_DONTFORK). `deallocate` gets memory that `allocate` returned, and
/// never a default.
template <class T>
concept provider_allocator = requires(T& allocator, void* memory) {
  {
    allocator.allocate(std::size_t{}, std::size_t{}, std::uint64_t{})
  } noexcept -> std::same_as<provider_allocation>;
  { allocator.deallocate(memory, std::uint64_t{}) } noexcept;
};

/// A reference to an allocator, which must outlive the parent domain that uses it.
class provider_allocator_ref {
 public:
  /// Makes an empty reference: the provider allocates as usual.
  constexpr provider_allocator_ref() noexcept = default;

  template <class Allocator>
    requires(!std::same_as<std::remove_cv_t<Allocator>, provider_allocator_ref>)
  provider_allocator_ref(Allocator& allocator) noexcept
      : object_{const_cast<std::remove_cv_t<Allocator>*>(&allocator)},
        allocate_{&allocate<Allocator>},
        deallocate_{&deallocate<Allocator>} {
    static_assert(
        provider_allocator<Allocator>,
        "an allocator for providers has allocate(std::size_t size, std::size_t alignment, "
        "std::uint64_t resource_type) noexcept, which returns a provider_allocation, and "
        "deallocate(void*, std::uint64_t resource_type) noexcept");
  }
  /// Deleted: the reference would outlive a temporary allocator.
  template <class Allocator>
    requires(!std::same_as<std::remove_cv_t<Allocator>, provider_allocator_ref>)
  provider_allocator_ref(const Allocator&&) = delete;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Writes the allocator into the attributes of a parent domain.
  void install(ibv_parent_domain_init_attr& attributes) const noexcept {
    if (object_ == nullptr) return;
    attributes.comp_mask |=
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    attributes.alloc = allocate_;
    attributes.free = deallocate_;
    attributes.pd_context = object_;
  }

 private:
  using allocate_function = decltype(ibv_parent_domain_init_attr::alloc);
  using deallocate_function = decltype(ibv_parent_domain_init_attr::free);

  template <class Allocator>
  static void* allocate(ibv_pd*, void* object, std::size_t size, std::size_t alignment,
                        std::uint64_t resource_type) noexcept {
    if constexpr (provider_allocator<Allocator>)
      return static_cast<Allocator*>(object)->allocate(size, alignment, resource_type).native();
    else
      return nullptr;  // The static_assert of the constructor has failed.
  }
  template <class Allocator>
  static void deallocate(ibv_pd*, void* object, void* memory,
                         std::uint64_t resource_type) noexcept {
    if constexpr (provider_allocator<Allocator>)
      static_cast<Allocator*>(object)->deallocate(memory, resource_type);
  }

  void* object_ = nullptr;
  allocate_function allocate_ = nullptr;
  deallocate_function deallocate_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI
