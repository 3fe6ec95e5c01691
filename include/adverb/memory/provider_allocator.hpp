// SPDX-License-Identifier: MIT
// Where a provider takes the memory of its queues from, when the program wants to say so.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// What an allocator answers a provider: memory, that there is none, or that the provider shall
/// allocate as it does without.
class provider_allocation {
 public:
  /// This memory; null means that there is none.
  constexpr explicit provider_allocation(void* memory) noexcept : memory_{memory} {}
  [[nodiscard]] static constexpr provider_allocation failed() noexcept {
    return provider_allocation{nullptr};
  }
  [[nodiscard]] static provider_allocation use_default() noexcept {
    return provider_allocation{IBV_ALLOCATOR_USE_DEFAULT};
  }

  /// As the C API has it.
  [[nodiscard]] constexpr void* native() const noexcept { return memory_; }

 private:
  void* memory_;
};

/// An object that a provider can take memory from. `allocate` gets a size and an alignment in
/// bytes, and what the memory is for (a number of the provider's own; the upper half names the
/// driver). The memory has to be zero, and must not be copied on write after a fork: anonymous
/// shared memory, or madvise(MADV_DONTFORK). `deallocate` gets back what was allocated, and never a
/// default.
template <class T>
concept provider_allocator = requires(T& allocator, void* memory) {
  {
    allocator.allocate(std::size_t{}, std::size_t{}, std::uint64_t{})
  } noexcept -> std::same_as<provider_allocation>;
  { allocator.deallocate(memory, std::uint64_t{}) } noexcept;
};

/// Refers to an allocator, which has to outlive the domain that it is given to.
class provider_allocator_ref {
 public:
  /// None: the provider allocates as it always does.
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
  /// An allocator that is about to die cannot be referred to.
  template <class Allocator>
    requires(!std::same_as<std::remove_cv_t<Allocator>, provider_allocator_ref>)
  provider_allocator_ref(const Allocator&&) = delete;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Puts the allocator into what a parent domain is made from.
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
      return nullptr;  // The constructor has said what is wrong.
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
