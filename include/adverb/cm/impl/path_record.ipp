// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <arpa/inet.h>

#include <adverb/cm/path_record.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC path_record path_record::from_native(const ibv_sa_path_rec& native) noexcept {
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

ADVERB_FUNC ibv_path_data path_record::native() const noexcept {
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

}  // namespace adverb::inline ADVERB_ABI::cm
