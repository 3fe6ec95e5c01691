// SPDX-License-Identifier: MIT
// Path records: paths to a peer, as InfiniBand subnet administration returns them.
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <infiniband/sa.h>

#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port.hpp>
#include <adverb/device/rate.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A path from a local port to a port of the peer. An identifier returns its own once the route is
/// resolved. A program that got a path elsewhere can set it (`set_path`).
struct path_record {
  adverb::gid source{};
  adverb::gid destination{};
  lid source_lid{};
  lid destination_lid{};
  /// 20 bits.
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  /// True if the peer can answer on the same path.
  bool is_reversible = true;
  adverb::pkey pkey{0xffff};
  adverb::service_level service_level{};
  adverb::mtu mtu = adverb::mtu::bytes_1024;
  adverb::rate rate = adverb::rate::unlimited;
  /// The maximum time of a packet on the path: 4.096 us * 2^code.
  std::uint8_t packet_life_time_code = 0;
  /// The preference among several paths; lower is better.
  std::uint8_t preference = 0;

  [[nodiscard]] static path_record from_native(const ibv_sa_path_rec& native) noexcept {
    return {.source = gid{native.sgid},
            .destination = gid{native.dgid},
            .source_lid = lid{ntohs(native.slid)},
            .destination_lid = lid{ntohs(native.dlid)},
            .flow_label = ntohl(native.flow_label),
            .hop_limit = native.hop_limit,
            .traffic_class = native.traffic_class,
            .is_reversible = native.reversible != 0,
            .pkey = adverb::pkey{ntohs(native.pkey)},
            .service_level = adverb::service_level{native.sl},
            .mtu = static_cast<adverb::mtu>(native.mtu),
            .rate = static_cast<adverb::rate>(native.rate),
            .packet_life_time_code = native.packet_life_time,
            .preference = native.preference};
  }

  /// Returns the C API struct, as the first path, for both directions.
  [[nodiscard]] ibv_path_data native() const noexcept {
    // The upper two bits select the comparison: 2 means "exactly this".
    constexpr unsigned exactly = 2U << 6U;
    ibv_path_data native{};
    native.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
    native.path.sgid = source.native();
    native.path.dgid = destination.native();
    native.path.slid = htons(static_cast<std::uint16_t>(source_lid));
    native.path.dlid = htons(static_cast<std::uint16_t>(destination_lid));
    native.path.flowlabel_hoplimit = htonl(flow_label << 8U | hop_limit);
    native.path.tclass = traffic_class;
    native.path.reversible_numpath = static_cast<std::uint8_t>((is_reversible ? 0x80U : 0U) | 1U);
    native.path.pkey = htons(static_cast<std::uint16_t>(pkey));
    native.path.qosclass_sl = htons(static_cast<std::uint8_t>(service_level));
    native.path.mtu = static_cast<std::uint8_t>(exactly | static_cast<unsigned>(mtu));
    native.path.rate = static_cast<std::uint8_t>(exactly | static_cast<unsigned>(rate));
    native.path.packetlifetime = static_cast<std::uint8_t>(exactly | packet_life_time_code);
    native.path.preference = preference;
    return native;
  }

  friend bool operator==(const path_record&, const path_record&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI::cm
