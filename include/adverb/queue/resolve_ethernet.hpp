// SPDX-License-Identifier: MIT
// The Ethernet destination of an address.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <adverb/core/error.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI {

/// The Ethernet destination of an address.
struct ethernet_destination {
  /// The MAC address of the peer, or of the router on the way to it.
  std::array<std::uint8_t, 6> mac{};
  /// The VLAN tag of the packets, if any.
  std::optional<std::uint16_t> vlan{};

  friend constexpr bool operator==(const ethernet_destination&,
                                   const ethernet_destination&) noexcept = default;
};

/// Formats a destination: "52:54:00:12:34:56", "52:54:00:12:34:56 vlan 7".
[[nodiscard]] constexpr static_string<48> to_text(
    const ethernet_destination& destination) noexcept {
  return static_string<48>{[&](text_writer& writer) {
    std::string_view separator;
    for (const std::uint8_t byte : destination.mac) {
      writer.put(separator).hexadecimal(byte, 2);
      separator = ":";
    }
    if (destination.vlan) writer.put(" vlan ").decimal(*destination.vlan);
  }};
}

/// Resolves an address on a RoCE port to its MAC address and VLAN, as a connected queue pair does.
/// Uses the routes and neighbours of the kernel, and may block until the network answers. The
/// address needs a route. Wraps: ibv_resolve_eth_l2_from_gid(3).
[[nodiscard]] ethernet_destination resolve_ethernet(context_ref context, const address& way,
                                                    on_failure policy = throwing{});

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/resolve_ethernet.ipp>
#endif
