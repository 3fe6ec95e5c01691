// SPDX-License-Identifier: MIT
// The choice of a port's GID to send from.
#pragma once

#include <optional>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the preference of an entry, 0 if it is unusable: RoCE v2 over IPv4, then v2 over IPv6,
/// then v1; link-local addresses last.
[[nodiscard]] inline int gid_preference(const gid_entry& entry) noexcept {
  const gid address = entry.gid();
  if (address.is_empty()) return 0;
  if (entry.type() == gid_type::infiniband) return 1;
  const bool second_version = entry.type() == gid_type::roce_v2;
  if (address.is_link_local()) return second_version ? 2 : 1;
  if (!second_version) return 3;
  return address.is_ipv4_mapped() ? 5 : 4;
}

}  // namespace detail

/// Returns the default entry of a port's GID table to send from. On RoCE the order of preference is
/// v2 over IPv4, v2 over IPv6, v1, and link-local addresses last. On InfiniBand it is the first
/// entry. Returns nothing if the port has no GID.
[[nodiscard]] inline std::optional<gid_entry> choose_gid(context_ref context, port_number port,
                                                         on_failure policy = throwing{}) {
  std::optional<gid_entry> best;
  for (const gid_entry& entry : context.gid_table(policy)) {
    if (entry.port() != port || detail::gid_preference(entry) == 0) continue;
    if (!best || detail::gid_preference(entry) > detail::gid_preference(*best)) best = entry;
  }
  return best;
}

}  // namespace adverb::inline ADVERB_ABI
