// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/choose_gid.hpp>
#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC int gid_preference(const gid_entry& entry) noexcept {
  const gid address = entry.gid();
  if (address.is_empty()) return 0;
  if (entry.type() == gid_type::infiniband) return 1;
  const bool second_version = entry.type() == gid_type::roce_v2;
  if (address.is_link_local()) return second_version ? 2 : 1;
  if (!second_version) return 3;
  return address.is_ipv4_mapped() ? 5 : 4;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::optional<gid_entry> choose_gid(context_ref context, port_number port,
                                                on_failure policy) {
  std::optional<gid_entry> best;
  for (const gid_entry& entry : context.gid_table(policy)) {
    if (entry.port() != port || detail::gid_preference(entry) == 0) continue;
    if (!best || detail::gid_preference(entry) > detail::gid_preference(*best)) best = entry;
  }
  return best;
}

}  // namespace adverb::inline ADVERB_ABI
