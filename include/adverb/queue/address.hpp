// SPDX-License-Identifier: MIT
// Addresses: the path to a port of a peer.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/ids.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/rate.hpp>

namespace adverb::inline ADVERB_ABI {

/// The part of an address that crosses subnets (the GRH). Required on Ethernet (RoCE).
struct global_route {
  adverb::gid destination{};
  /// Local source GID, as an index into the table of the port.
  gid_index source{};
  /// 20 bits.
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 64;
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
  adverb::service_level service_level{};
  /// Low bits of the local LID, if the port has several.
  std::uint8_t source_path_bits = 0;
  /// Maximum static rate.
  rate static_rate = rate::unlimited;
  std::optional<global_route> route{};

  [[nodiscard]] static address from_native(const ibv_ah_attr& native) noexcept;
  [[nodiscard]] ibv_ah_attr native() const noexcept;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/address.ipp>
#endif
