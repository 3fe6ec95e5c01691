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

  [[nodiscard]] static address from_native(const ibv_ah_attr& native) noexcept {
    address made{.port = port_number{native.port_num},
                 .destination = lid{native.dlid},
                 .service_level = adverb::service_level{native.sl},
                 .source_path_bits = native.src_path_bits,
                 .static_rate = adverb::rate{native.static_rate}};
    if (native.is_global != 0)
      made.route = global_route{.destination = gid{native.grh.dgid},
                                .source = gid_index{native.grh.sgid_index},
                                .flow_label = native.grh.flow_label,
                                .hop_limit = native.grh.hop_limit,
                                .traffic_class = native.grh.traffic_class};
    return made;
  }
  [[nodiscard]] ibv_ah_attr native() const noexcept {
    ibv_ah_attr native{};
    if (route) {
      native.grh.dgid = route->destination.native();
      native.grh.flow_label = route->flow_label;
      native.grh.sgid_index = static_cast<std::uint8_t>(route->source);
      native.grh.hop_limit = route->hop_limit;
      native.grh.traffic_class = route->traffic_class;
      native.is_global = 1;
    }
    native.dlid = static_cast<std::uint16_t>(destination);
    native.sl = static_cast<std::uint8_t>(service_level);
    native.src_path_bits = source_path_bits;
    native.static_rate = static_cast<std::uint8_t>(static_rate);
    native.port_num = static_cast<std::uint8_t>(port);
    return native;
  }
};

}  // namespace adverb::inline ADVERB_ABI
