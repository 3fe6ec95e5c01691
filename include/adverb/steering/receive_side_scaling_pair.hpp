// SPDX-License-Identifier: MIT
// Receive-side scaling: queue pairs that spread packets over work queues.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/indirection_table.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/steering/receive_hash.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Explains why a receive-side scaling queue pair could not be created.
void explain_scaling(failure_description& description, context_ref context, transport service,
                     const receive_hash& hash, indirection_table_ref table);

}  // namespace detail

/// Creates a queue pair that spreads its packets over the work queues of a table, by the hash of
/// each packet. It has no queues of its own: nothing can be sent through it, and receives are
/// posted to the work queues. It is in RESET. Some devices (mlx4) accept packets once it is moved
/// to RTR; others (mlx5) accept them at once, and refuse to modify it. The table must outlive it.
/// Wraps: ibv_create_qp_ex(3).
template <transport Transport = transport::raw_packet>
[[nodiscard]] queue_pair<Transport, qp_state::reset> create_receive_side_scaling_pair(
    protection_domain_ref domain, indirection_table_ref table, const receive_hash& hash,
    on_failure policy = throwing{}) {
  static_assert(Transport == transport::raw_packet || Transport == transport::ud,
                "receive-side scaling is for raw packet and UD queue pairs");
  auto made = detail::make_handle<detail::owned_queue_pair>(
      policy, "ibv_create_qp_ex",
      [&] {
        toeplitz_key key = hash.key();
        ibv_qp_init_attr_ex native{};
        native.qp_type = static_cast<ibv_qp_type>(Transport);
        native.comp_mask =
            IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
        native.pd = domain.native_handle();
        native.rwq_ind_tbl = table.native_handle();
        native.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                               .rx_hash_key_len = static_cast<std::uint8_t>(key.size()),
                               .rx_hash_key = reinterpret_cast<std::uint8_t*>(key.data()),
                               .rx_hash_fields_mask = hash.fields().bits()};
        return ibv_create_qp_ex(domain.native_handle()->context, &native);
      },
      [&](failure_description& description) {
        detail::on_device(domain.native_handle()->context)(description);
        detail::explain_scaling(description, domain.context(), Transport, hash, table);
      },
      domain, table);
  if (!made || !detail::check_kind(policy, made.native_handle(), Transport, qp_state::reset))
    return {};
  const detail::noted_parents parents{table.native_handle()};
  // Recorded now, because releasing a handle removes its parents.
  return {adopt, detail::with_parents_of(made.release(), parents), policy};
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/receive_side_scaling_pair.ipp>
#endif
