// SPDX-License-Identifier: MIT
// Which of its addresses a port should use.
#pragma once

#include <optional>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// How well an entry serves, 0 for not at all: RoCE v2 over IPv4, then v2 over IPv6, then v1;
/// link-local addresses only where there is nothing else.
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

/// The entry of a port's GID table to send from unless something speaks for another: RoCE v2 over
/// IPv4, then v2 over IPv6, then v1, never a link-local one if another serves; on InfiniBand the
/// first. Nothing when the port has no GID.
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
