// SPDX-License-Identifier: MIT
// Keeps librdmacm's protection domains, which it deallocates with the last identifier on a device.
#pragma once

#include <atomic>
#include <cerrno>

#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The identifiers that keep librdmacm's domains: on each device one, bound and never connected,
/// for as long as the program runs. Without it the domain goes with the last identifier on the
/// device, or is leaked when there are regions in it then, and the next identifier has another.
///
/// Of a device that was removed librdmacm keeps the context as long as there are identifiers on it,
/// so what is left in the domain can be destroyed then too.
///
/// Thread safe, and without locks: a child process that is forked finds them as they are.
// See docs/decisions.md, "librdmacm's default domain is kept".
class [[gnu::visibility("default")]] default_domains {
 public:
  /// Has the domain that this identifier was given with its device kept from now on. Without a
  /// device it does nothing, and when there can be no more identifiers the domain stays one that
  /// goes. The errno is left as it is.
  static void keep(const rdma_cm_id* id) noexcept {
    if (id->verbs == nullptr || is_kept(first_.load(std::memory_order_acquire), id->verbs)) return;
    const int reason = errno;
    if (rdma_cm_id* const keeper = bound_beside(id)) add(keeper);
    errno = reason;
  }

  /// Gives all of them up: for tests, whose devices come and go. No other thread may be here.
  static void release_all() noexcept {
    rdma_cm_id* keeper = first_.exchange(nullptr, std::memory_order_acq_rel);
    while (keeper != nullptr) {
      rdma_cm_id* const next = next_of(keeper);
      rdma_destroy_id(keeper);
      keeper = next;
    }
  }

 private:
  /// A keeper has no use for its user context: it refers to the next one.
  [[nodiscard]] static rdma_cm_id* next_of(const rdma_cm_id* keeper) noexcept {
    return static_cast<rdma_cm_id*>(keeper->context);
  }
  // A context that is kept is never closed, so that no other can have its address.
  [[nodiscard]] static bool is_kept(const rdma_cm_id* keeper, const ibv_context* device) noexcept {
    while (keeper != nullptr && keeper->verbs != device) keeper = next_of(keeper);
    return keeper != nullptr;
  }

  /// Another identifier at the same local address, with a channel of its own; null where there can
  /// be none, or where the address belongs to another device by now.
  [[nodiscard]] static rdma_cm_id* bound_beside(const rdma_cm_id* id) noexcept {
    const cm::socket_address address = address_in(&id->route.addr.src_addr).with_port(0);
    rdma_cm_id* made = nullptr;
    if (address.is_empty() || rdma_create_id(nullptr, &made, nullptr, id->ps) != 0) return nullptr;
    if (rdma_bind_addr(made, address.native()) == 0 && made->verbs == id->verbs) return made;
    rdma_destroy_id(made);
    return nullptr;
  }

  /// Unless another thread was faster.
  static void add(rdma_cm_id* keeper) noexcept {
    rdma_cm_id* first = first_.load(std::memory_order_acquire);
    do {
      if (is_kept(first, keeper->verbs)) {
        rdma_destroy_id(keeper);
        return;
      }
      keeper->context = first;
    } while (!first_.compare_exchange_weak(first, keeper, std::memory_order_acq_rel));
  }

  static inline std::atomic<rdma_cm_id*> first_{nullptr};
};

}  // namespace adverb::inline ADVERB_ABI::detail
