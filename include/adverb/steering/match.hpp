// SPDX-License-Identifier: MIT
// The headers that a flow rule matches. Numbers are in host byte order here, and in network byte
// order on the wire.
#pragma once

#include <cstdint>

#include <adverb/steering/match_field.hpp>

namespace adverb::inline ADVERB_ABI {

/// An Ethernet header.
struct match_ethernet {
  match_field<mac_address> destination{};
  match_field<mac_address> source{};
  /// The type after the last VLAN tag, for example 0x0800 (IPv4).
  match_field<std::uint16_t> ether_type{};
  /// The fields of the VLAN tag.
  match_field<std::uint16_t, 12> vlan_id{};
  match_field<std::uint8_t, 3> vlan_priority{};
  match_field<bool> vlan_drop_eligible{};
};

/// The addresses of an IPv4 header.
struct match_ipv4 {
  match_field<ipv4_address> source{};
  match_field<ipv4_address> destination{};
};

/// An IPv4 header with more fields than `match_ipv4`. Fewer devices support it.
struct match_ipv4_extended {
  match_field<ipv4_address> source{};
  match_field<ipv4_address> destination{};
  /// For example 6 (TCP) or 17 (UDP).
  match_field<std::uint8_t> protocol{};
  match_field<std::uint8_t> type_of_service{};
  match_field<std::uint8_t> time_to_live{};
  /// 2: do not fragment; 4: more fragments follow.
  match_field<std::uint8_t> flags{};
};

/// An IPv6 header.
struct match_ipv6 {
  match_field<ipv6_address> source{};
  match_field<ipv6_address> destination{};
  match_field<std::uint32_t, 20> flow_label{};
  /// For example 6 (TCP) or 17 (UDP).
  match_field<std::uint8_t> next_header{};
  match_field<std::uint8_t> traffic_class{};
  match_field<std::uint8_t> hop_limit{};
};

/// The header of an encrypted packet (IPsec ESP).
struct match_esp {
  match_field<std::uint32_t> security_parameters_index{};
  match_field<std::uint32_t> sequence_number{};
};

/// The ports of a TCP header.
struct match_tcp {
  match_field<std::uint16_t> source_port{};
  match_field<std::uint16_t> destination_port{};
};

/// The ports of a UDP header.
struct match_udp {
  match_field<std::uint16_t> source_port{};
  match_field<std::uint16_t> destination_port{};
};

/// The header of a VXLAN tunnel.
struct match_vxlan {
  match_field<std::uint32_t, 24> network_identifier{};
};

/// The header of a GRE tunnel.
struct match_gre {
  match_field<bool> checksum_present{};
  match_field<bool> key_present{};
  match_field<bool> sequence_number_present{};
  match_field<std::uint8_t, 3> version{};
  /// The ether type of the payload.
  match_field<std::uint16_t> protocol{};
  match_field<std::uint32_t> key{};
};

/// One entry of an MPLS label stack, at its position in the packet.
struct match_mpls {
  match_field<std::uint32_t, 20> label{};
  match_field<std::uint8_t, 3> traffic_class{};
  match_field<bool> bottom_of_stack{};
  match_field<std::uint8_t> time_to_live{};
};

/// A header inside a tunnel: match_inner{match_ipv4{.source = …}}.
template <class Match>
struct match_inner {
  Match match;
};
template <class Match>
match_inner(Match) -> match_inner<Match>;

}  // namespace adverb::inline ADVERB_ABI
