// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/cm/detail/default_domains.hpp>
#include <adverb/cm/socket_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void default_domains::keep(const rdma_cm_id* id) noexcept {
  if (id->verbs == nullptr || is_kept(first_.load(std::memory_order_acquire), id->verbs)) return;
  const int reason = errno;
  if (rdma_cm_id* const keeper = bound_beside(id)) add(keeper);
  errno = reason;
}

ADVERB_FUNC void default_domains::release_all() noexcept {
  rdma_cm_id* keeper = first_.exchange(nullptr, std::memory_order_acq_rel);
  while (keeper != nullptr) {
    rdma_cm_id* const next = next_of(keeper);
    rdma_destroy_id(keeper);
    keeper = next;
  }
}

ADVERB_FUNC bool default_domains::is_kept(const rdma_cm_id* keeper,
                                          const ibv_context* device) noexcept {
  while (keeper != nullptr && keeper->verbs != device) keeper = next_of(keeper);
  return keeper != nullptr;
}

ADVERB_FUNC rdma_cm_id* default_domains::bound_beside(const rdma_cm_id* id) noexcept {
  const cm::socket_address address = address_in(&id->route.addr.src_addr).with_port(0);
  rdma_cm_id* made = nullptr;
  if (address.is_empty() || rdma_create_id(nullptr, &made, nullptr, id->ps) != 0) return nullptr;
  if (rdma_bind_addr(made, address.native()) == 0 && made->verbs == id->verbs) return made;
  rdma_destroy_id(made);
  return nullptr;
}

ADVERB_FUNC void default_domains::add(rdma_cm_id* keeper) noexcept {
  rdma_cm_id* first = first_.load(std::memory_order_acquire);
  do {
    if (is_kept(first, keeper->verbs)) {
      rdma_destroy_id(keeper);
      return;
    }
    keeper->context = first;
  } while (!first_.compare_exchange_weak(first, keeper, std::memory_order_acq_rel));
}

}  // namespace adverb::inline ADVERB_ABI::detail
