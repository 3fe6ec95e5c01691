// SPDX-License-Identifier: MIT
// Keeps librdmacm's protection domains, which it deallocates with the last identifier on a device.
#pragma once

#include <atomic>

#include <rdma/rdma_cma.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The identifiers that keep librdmacm's protection domains: one per device, bound, never
/// connected, and alive until the program ends. Without them, the domain disappears with the last
/// identifier on the device, or leaks if it still has memory regions, and the next identifier gets
/// another domain.
///
/// librdmacm keeps the context of a removed device while identifiers on it exist, so the objects in
/// the domain can still be destroyed.
///
/// Thread safe and lock-free: a forked child process finds the list intact.
// See docs/decisions.md, "librdmacm's default domain is kept".
class [[gnu::visibility("default")]] default_domains {
 public:
  /// Keeps the protection domain of this identifier from now on. Does nothing without a device. If
  /// no more identifiers can be created, the domain is not kept. Preserves errno.
  static void keep(const rdma_cm_id* id) noexcept;

  /// Releases all domains, for tests whose devices come and go. No other thread may use this class.
  static void release_all() noexcept;

 private:
  /// Returns the next keeper, which the unused user context stores.
  [[nodiscard]] static rdma_cm_id* next_of(const rdma_cm_id* keeper) noexcept {
    return static_cast<rdma_cm_id*>(keeper->context);
  }
  // A kept context is never closed, so no other context can have its address.
  [[nodiscard]] static bool is_kept(const rdma_cm_id* keeper, const ibv_context* device) noexcept;

  /// Returns another identifier at the same local address, with its own channel. Returns null if
  /// none can be created or the address now belongs to another device.
  [[nodiscard]] static rdma_cm_id* bound_beside(const rdma_cm_id* id) noexcept;

  /// Adds a keeper unless another thread was faster.
  static void add(rdma_cm_id* keeper) noexcept;

  static inline std::atomic<rdma_cm_id*> first_{nullptr};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/default_domains.ipp>
#endif
