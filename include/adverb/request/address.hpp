// SPDX-License-Identifier: MIT
// Addresses: the path to a port of a peer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/error.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/rate.hpp>

namespace adverb::inline ADVERB_ABI {

/// The part of an address that crosses subnets (the GRH). Required on Ethernet (RoCE).
struct global_route {
  /// GID of the peer.
  adverb::gid destination{};
  /// Local source GID, as an index into the table of the port.
  gid_index source{};
  /// 20 bits.
  std::uint32_t flow_label = 0;
  /// Hop limit of the GRH.
  std::uint8_t hop_limit = 64;
  /// Traffic class of the GRH.
  std::uint8_t traffic_class = 0;

  /// Returns the UDP source port of RoCE v2 packets with this flow label. Routers use it to choose
  /// among equal paths. Wraps: ibv_flow_label_to_udp_sport(3).
  [[nodiscard]] std::uint16_t udp_source_port() const noexcept {
    return ibv_flow_label_to_udp_sport(flow_label);
  }
};

/// The path from a port of this device to a port of the peer.
struct address {
  /// Local port.
  port_number port{1};
  /// LID of the peer; 0 on Ethernet.
  lid destination{};
  /// Service level.
  adverb::service_level service_level{};
  /// Low bits of the local LID, if the port has several.
  std::uint8_t source_path_bits = 0;
  /// Maximum static rate.
  rate static_rate = rate::unlimited;
  /// The GRH; nothing for a path within an InfiniBand subnet that needs none.
  std::optional<global_route> route{};

  /// Copies the C API struct.
  [[nodiscard]] static address from_native(const ibv_ah_attr& native) noexcept;
  [[nodiscard]] ibv_ah_attr native() const noexcept;
};

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
#include <adverb/request/impl/address.ipp>
#endif
