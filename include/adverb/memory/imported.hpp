// SPDX-License-Identifier: MIT
// Objects of another process, imported through a context that was imported from it.
// Destroying these owners releases the local handle only. The process that ends last destroys the
// objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/memory/device_memory.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct imported_protection_domain_traits : protection_domain_traits {
  static constexpr const char* destroy_verb = "ibv_unimport_pd";
  static int destroy(ibv_pd* domain) noexcept {
    ibv_unimport_pd(domain);
    return 0;
  }
};

struct imported_memory_region_traits : memory_region_traits {
  static constexpr const char* destroy_verb = "ibv_unimport_mr";
  static int destroy(ibv_mr* region) noexcept {
    ibv_unimport_mr(region);
    return 0;
  }
};

struct imported_device_memory_traits : device_memory_traits {
  static constexpr const char* destroy_verb = "ibv_unimport_dm";
  static int destroy(ibv_dm* memory) noexcept {
    ibv_unimport_dm(memory);
    return 0;
  }
};

}  // namespace detail

/// A protection domain of another process. Destroying it releases the local handle only. The
/// process that ends last destroys the domain for all through an owner:
/// `protection_domain{adopt, imported.release()}`.
class [[nodiscard]] imported_protection_domain
    : public detail::owner<detail::protection_domain_base,
                           detail::imported_protection_domain_traits> {
 public:
  using owner::owner;

  /// Imports the protection domain `handle`. `context` must be imported from the process that made
  /// the domain. Wraps: ibv_import_pd(3).
  imported_protection_domain(context_ref context, protection_domain_handle handle,
                             on_failure policy = throwing{});
};

/// A memory region of another process. Work requests can use it, but this process cannot access its
/// memory. Destroying it releases the local handle only.
class [[nodiscard]] imported_memory_region
    : public detail::owner<detail::memory_region_base, detail::imported_memory_region_traits> {
 public:
  imported_memory_region() noexcept = default;

  /// Imports the memory region `handle` into an imported protection domain. The kernel supplies its
  /// keys and size. The other process must supply its rights and device address.
  /// Wraps: ibv_import_mr(3).
  imported_memory_region(protection_domain_ref domain, memory_region_handle handle,
                         access_rights rights, std::uint64_t device_address,
                         on_failure policy = throwing{});

  /// Takes ownership of a region that the C API imported.
  imported_memory_region(adopt_t, ibv_mr* region, access_rights rights,
                         std::uint64_t device_address) noexcept
      : owner{adverb::adopt, region, rights, device_address} {}
};

/// Device memory of another process. Destroying it releases the local handle only.
class [[nodiscard]] imported_device_memory
    : public detail::owner<detail::device_memory_base, detail::imported_device_memory_traits> {
 public:
  imported_device_memory() noexcept = default;

  /// Imports the device memory `handle` into an imported context. The other process must supply its
  /// size. Wraps: ibv_import_dm(3).
  imported_device_memory(context_ref context, device_memory_handle handle, std::size_t size,
                         on_failure policy = throwing{});

  /// Takes ownership of device memory that the C API imported.
  imported_device_memory(adopt_t, ibv_dm* memory, std::size_t size) noexcept
      : owner{adverb::adopt, memory, size} {}
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/imported.ipp>
#endif
