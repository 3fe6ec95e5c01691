// SPDX-License-Identifier: MIT
// Objects that another process made, used here through a context that was imported from it. Only
// the process that ends last destroys them: the others only forget them, which is what these owners
// do.
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
  static constexpr std::string_view destroy_verb = "ibv_unimport_pd";
  static int destroy(ibv_pd* domain) noexcept {
    ibv_unimport_pd(domain);
    return 0;
  }
};

struct imported_memory_region_traits : memory_region_traits {
  static constexpr std::string_view destroy_verb = "ibv_unimport_mr";
  static int destroy(ibv_mr* region) noexcept {
    ibv_unimport_mr(region);
    return 0;
  }
};

struct imported_device_memory_traits : device_memory_traits {
  static constexpr std::string_view destroy_verb = "ibv_unimport_dm";
  static int destroy(ibv_dm* memory) noexcept {
    ibv_unimport_dm(memory);
    return 0;
  }
};

}  // namespace detail

/// A protection domain of another process. Destroying it only forgets it; the process that ends the
/// domain for all releases it into an owner: `protection_domain{adopt, imported.release()}`.
class [[nodiscard]] imported_protection_domain
    : public detail::owner<detail::protection_domain_base,
                           detail::imported_protection_domain_traits> {
 public:
  using owner::owner;

  /// Imports the domain that is known by `handle` in a context that was imported from the process
  /// which made it. Wraps: ibv_import_pd(3).
  imported_protection_domain(context_ref context, protection_domain_handle handle,
                             on_failure policy = throwing{})
      : owner{adverb::adopt, detail::make_object(
                                 policy, "ibv_import_pd",
                                 [&] {
                                   return ibv_import_pd(context.native_handle(),
                                                        static_cast<std::uint32_t>(handle));
                                 },
                                 detail::on_device(context.native_handle()), context)} {}
};

/// A memory region of another process: its memory cannot be reached from here, but work requests
/// can use it. Destroying it only forgets it.
class [[nodiscard]] imported_memory_region
    : public detail::owner<detail::memory_region_base, detail::imported_memory_region_traits> {
 public:
  imported_memory_region() noexcept = default;

  /// Imports the region that is known by `handle` in the domain that was imported. The kernel tells
  /// its keys and its size; its rights and device address the other process has to tell.
  /// Wraps: ibv_import_mr(3).
  imported_memory_region(protection_domain_ref domain, memory_region_handle handle,
                         access_rights rights, std::uint64_t device_address,
                         on_failure policy = throwing{})
      : owner{adverb::adopt,
              detail::make_object(
                  policy, "ibv_import_mr",
                  [&] {
                    return ibv_import_mr(domain.native_handle(),
                                         static_cast<std::uint32_t>(handle));
                  },
                  [&](failure_description& description) {
                    detail::on_device(domain.context().native_handle())(description);
                  },
                  domain),
              rights, device_address} {}

  /// Takes over a region that the C API imported.
  imported_memory_region(adopt_t, ibv_mr* region, access_rights rights,
                         std::uint64_t device_address) noexcept
      : owner{adverb::adopt, region, rights, device_address} {}
};

/// Device memory that another process allocated. Destroying it only forgets it.
class [[nodiscard]] imported_device_memory
    : public detail::owner<detail::device_memory_base, detail::imported_device_memory_traits> {
 public:
  imported_device_memory() noexcept = default;

  /// Imports the memory that is known by `handle` in a context that was imported; its size the
  /// other process has to tell. Wraps: ibv_import_dm(3).
  imported_device_memory(context_ref context, device_memory_handle handle, std::size_t size,
                         on_failure policy = throwing{})
      : owner{adverb::adopt,
              detail::make_object(
                  policy, "ibv_import_dm",
                  [&] {
                    return ibv_import_dm(context.native_handle(),
                                         static_cast<std::uint32_t>(handle));
                  },
                  detail::on_device(context.native_handle()), context),
              size} {}

  /// Takes over memory that the C API imported.
  imported_device_memory(adopt_t, ibv_dm* memory, std::size_t size) noexcept
      : owner{adverb::adopt, memory, size} {}
};

}  // namespace adverb::inline ADVERB_ABI
