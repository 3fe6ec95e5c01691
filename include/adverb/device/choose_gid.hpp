// SPDX-License-Identifier: MIT
// The choice of a port's GID to send from.
#pragma once

#include <optional>

#include <adverb/core/error.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/context_ref.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the preference of an entry, 0 if it is unusable: RoCE v2 over IPv4, then v2 over IPv6,
/// then v1; link-local addresses last.
[[nodiscard]] int gid_preference(const gid_entry& entry) noexcept;

}  // namespace detail

/// Returns the default entry of a port's GID table to send from. On RoCE the order of preference is
/// v2 over IPv4, v2 over IPv6, v1, and link-local addresses last. On InfiniBand it is the first
/// entry. Returns nothing if the port has no GID.
[[nodiscard]] std::optional<gid_entry> choose_gid(context_ref context, port_number port,
                                                  on_failure policy = throwing{});

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/choose_gid.ipp>
#endif
