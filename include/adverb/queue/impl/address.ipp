// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC address address::from_native(const ibv_ah_attr& native) noexcept {
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

ADVERB_FUNC ibv_ah_attr address::native() const noexcept {
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

}  // namespace adverb::inline ADVERB_ABI
