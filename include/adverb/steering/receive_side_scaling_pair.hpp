// SPDX-License-Identifier: MIT
// Receive-side scaling: queue pairs that spread packets over work queues.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/device/capabilities.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/indirection_table.hpp>
#include <adverb/queue/queue_pair.hpp>

namespace adverb::inline ADVERB_ABI {

/// The fields that usually distinguish connections.
inline constexpr hash_fields ipv4_fields = hash_field::source_ipv4 | hash_field::destination_ipv4;
/// The addresses of IPv6.
inline constexpr hash_fields ipv6_fields = hash_field::source_ipv6 | hash_field::destination_ipv6;
/// The ports of TCP.
inline constexpr hash_fields tcp_fields =
    hash_field::source_tcp_port | hash_field::destination_tcp_port;
/// The ports of UDP.
inline constexpr hash_fields udp_fields =
    hash_field::source_udp_port | hash_field::destination_udp_port;

namespace detail {

[[nodiscard]] constexpr bool mixes_networks(hash_fields fields) noexcept {
  return fields.intersects(ipv4_fields) && fields.intersects(ipv6_fields);
}
[[nodiscard]] constexpr bool mixes_transports(hash_fields fields) noexcept {
  return fields.intersects(tcp_fields) && fields.intersects(udp_fields);
}

inline constexpr std::string_view mixed_networks =
    "a hash covers IPv4 or IPv6 addresses: create a queue pair for each";
inline constexpr std::string_view mixed_transports =
    "a hash covers TCP or UDP ports: create a queue pair for each";
inline constexpr std::string_view only_inner =
    "inner selects the headers inside a tunnel: name their fields too";

/// Returns the problem with the fields, or an empty string.
[[nodiscard]] constexpr std::string_view hash_problem(hash_fields fields) noexcept {
  if (mixes_networks(fields)) return mixed_networks;
  if (mixes_transports(fields)) return mixed_transports;
  return fields == hash_field::inner ? only_inner : "";
}

}  // namespace detail

/// The secret key of the Toeplitz hash: 40 bytes, preferably random, so that an attacker cannot
/// target one queue.
using toeplitz_key = std::array<std::byte, 40>;

/// A hash over packet fields, with its key.
///
///     constexpr auto hash = receive_hash::over<ipv4_fields | tcp_fields>(key);
///
/// IPv4 and IPv6 fields cannot be mixed, nor can TCP and UDP fields.
class receive_hash {
 public:
  /// Hashes fields known at compile time. An empty set is for a table with one entry.
  template <hash_fields Fields>
  [[nodiscard]] static constexpr receive_hash over(const toeplitz_key& key) noexcept {
    static_assert(!detail::mixes_networks(Fields),
                  "a hash covers either IPv4 or IPv6 addresses: create a queue pair for each");
    static_assert(!detail::mixes_transports(Fields),
                  "a hash covers either TCP or UDP ports: create a queue pair for each");
    static_assert(Fields != hash_fields{hash_field::inner},
                  "hash_field::inner selects no field: name the fields too");
    return {Fields, key};
  }

  /// Hashes fields known at run time. Fails with EINVAL if the fields cannot be mixed; the hash
  /// then has no fields.
  [[nodiscard]] static receive_hash over(hash_fields fields, const toeplitz_key& key,
                                         on_failure policy = throwing{}) {
    const std::string_view problem = detail::hash_problem(fields);
    const bool fits = detail::check_returned(
        policy, "receive_hash::over", problem.empty() ? 0 : EINVAL,
        [&](failure_description& description) { description.explain(problem); });
    return {fits ? fields : hash_fields{}, key};
  }

  /// Returns the packet fields that take part in the hash.
  [[nodiscard]] constexpr hash_fields fields() const noexcept { return fields_; }
  /// Returns the key of the hash.
  [[nodiscard]] constexpr const toeplitz_key& key() const noexcept { return key_; }

 private:
  constexpr receive_hash(hash_fields fields, const toeplitz_key& key) noexcept
      : fields_{fields}, key_{key} {}

  hash_fields fields_;
  toeplitz_key key_;
};

namespace detail {

/// Explains why a receive-side scaling queue pair could not be created.
[[gnu::cold]] void explain_scaling(failure_description& description, context_ref context,
                                   transport service, const receive_hash& hash,
                                   indirection_table_ref table);

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
                "only raw packet and UD queue pairs support receive-side scaling");
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
