// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <adverb/steering/detail/specification.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void lowering_notes::add_too_large(std::string_view field, std::uint64_t number,
                                               bool of_mask, unsigned has_bits) noexcept {
  if (!too_large.empty()) return;
  too_large = field;
  given = number;
  is_mask = of_mask;
  bits = has_bits;
}

ADVERB_FUNC static_string<160> range_problem(const lowering_notes& notes) noexcept {
  return static_string<160>{[&](text_writer& writer) {
    if (notes.too_large.empty()) return;
    writer.put(notes.is_mask ? "the mask of " : "");
    writer.put(notes.too_large).put(" is ").decimal(notes.given).put(", which does not fit ");
    writer.put("into its ").decimal(notes.bits).put(notes.bits == 1 ? " bit" : " bits");
  }};
}

ADVERB_FUNC void lowering<match_ethernet>::fill(const match_ethernet& from,
                                                filter_writer<ibv_flow_eth_filter> out) noexcept {
  using filter = ibv_flow_eth_filter;
  out.address(&filter::dst_mac, from.destination)
      .address(&filter::src_mac, from.source)
      .number("ether_type", &filter::ether_type, from.ether_type)
      .number("vlan_id", &filter::vlan_tag, from.vlan_id)
      .number("vlan_drop_eligible", &filter::vlan_tag, from.vlan_drop_eligible, 12)
      .number("vlan_priority", &filter::vlan_tag, from.vlan_priority, 13);
}

ADVERB_FUNC void lowering<match_ipv4>::fill(const match_ipv4& from,
                                            filter_writer<ibv_flow_ipv4_filter> out) noexcept {
  using filter = ibv_flow_ipv4_filter;
  out.address(&filter::src_ip, from.source).address(&filter::dst_ip, from.destination);
}

ADVERB_FUNC void lowering<match_ipv4_extended>::fill(
    const match_ipv4_extended& from, filter_writer<ibv_flow_ipv4_ext_filter> out) noexcept {
  using filter = ibv_flow_ipv4_ext_filter;
  out.address(&filter::src_ip, from.source)
      .address(&filter::dst_ip, from.destination)
      .number("protocol", &filter::proto, from.protocol)
      .number("type_of_service", &filter::tos, from.type_of_service)
      .number("time_to_live", &filter::ttl, from.time_to_live)
      .number("flags", &filter::flags, from.flags);
}

ADVERB_FUNC void lowering<match_ipv6>::fill(const match_ipv6& from,
                                            filter_writer<ibv_flow_ipv6_filter> out) noexcept {
  using filter = ibv_flow_ipv6_filter;
  out.address(&filter::src_ip, from.source)
      .address(&filter::dst_ip, from.destination)
      .number("flow_label", &filter::flow_label, from.flow_label)
      .number("next_header", &filter::next_hdr, from.next_header)
      .number("traffic_class", &filter::traffic_class, from.traffic_class)
      .number("hop_limit", &filter::hop_limit, from.hop_limit);
}

ADVERB_FUNC void lowering<match_esp>::fill(const match_esp& from,
                                           filter_writer<ibv_flow_esp_filter> out) noexcept {
  using filter = ibv_flow_esp_filter;
  out.number("security_parameters_index", &filter::spi, from.security_parameters_index)
      .number("sequence_number", &filter::seq, from.sequence_number);
}

ADVERB_FUNC void lowering<match_gre>::fill(const match_gre& from,
                                           filter_writer<ibv_flow_gre_filter> out) noexcept {
  using filter = ibv_flow_gre_filter;
  out.number("checksum_present", &filter::c_ks_res0_ver, from.checksum_present, 15)
      .number("key_present", &filter::c_ks_res0_ver, from.key_present, 13)
      .number("sequence_number_present", &filter::c_ks_res0_ver, from.sequence_number_present, 12)
      .number("version", &filter::c_ks_res0_ver, from.version)
      .number("protocol", &filter::protocol, from.protocol)
      .number("key", &filter::key, from.key);
}

ADVERB_FUNC void lowering<match_mpls>::fill(const match_mpls& from,
                                            filter_writer<ibv_flow_mpls_filter> out) noexcept {
  using filter = ibv_flow_mpls_filter;
  out.number("label", &filter::label, from.label, 12)
      .number("traffic_class", &filter::label, from.traffic_class, 9)
      .number("bottom_of_stack", &filter::label, from.bottom_of_stack, 8)
      .number("time_to_live", &filter::label, from.time_to_live);
}

}  // namespace adverb::inline ADVERB_ABI::detail
