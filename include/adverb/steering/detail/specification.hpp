// SPDX-License-Identifier: MIT
// The layout of flow rule specifications for the C API.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/steering/flow_options.hpp>
#include <adverb/steering/match.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The findings during the conversion of the fields.
struct lowering_notes {
  /// The name of the first field whose value or mask exceeds its width; empty if none does.
  std::string_view too_large{};
  /// That value or mask, and which of the two it is.
  std::uint64_t given = 0;
  bool is_mask = false;
  unsigned bits = 0;
  /// True if a field is compared only in some of its bits.
  bool partial = false;

  [[gnu::cold]] void add_too_large(std::string_view field, std::uint64_t number, bool of_mask,
                                   unsigned has_bits) noexcept;
};

/// Writes a number into a word in network byte order, starting `shift` bits from its low end.
template <class Word>
void place(Word& word, std::uint64_t number, unsigned shift) noexcept {
  word = static_cast<Word>(word | swap_network_order(static_cast<Word>(number << shift)));
}

/// Returns "vlan_id is 4096, which does not fit into its 12 bits", or nothing if every value fits.
[[nodiscard]] static_string<160> range_problem(const lowering_notes& notes) noexcept;

/// Writes fields into the two filters of a specification, value and mask, in network byte order.
template <class Filter>
class filter_writer {
 public:
  filter_writer(Filter& value, Filter& mask, lowering_notes& notes) noexcept
      : value_{value}, mask_{mask}, notes_{notes} {}

  template <class Member, byte_address Address>
  filter_writer& address(Member Filter::* member, const match_field<Address>& field) noexcept {
    static_assert(sizeof(Member) == sizeof(Address));
    std::memcpy(&(value_.*member), field.value().bytes().data(), sizeof(Member));
    std::memcpy(&(mask_.*member), field.mask().bytes().data(), sizeof(Member));
    notes_.partial |= field.is_partial();
    return *this;
  }

  /// Writes a number, or a part of a member that starts `shift` bits from its low end.
  template <class Member, class T, unsigned Bits>
  filter_writer& number(std::string_view name, Member Filter::* member,
                        const match_field<T, Bits>& field, unsigned shift = 0) noexcept {
    place(value_.*member, field.value(), shift);
    place(mask_.*member, field.mask(), shift);
    notes_.partial |= field.is_partial();
    if (field.value_too_large())
      notes_.add_too_large(name, field.given(), false, Bits);
    else if (field.mask_too_large())
      notes_.add_too_large(name, field.mask(), true, Bits);
    return *this;
  }

 private:
  Filter& value_;
  Filter& mask_;
  lowering_notes& notes_;
};

/// Converts a specification to a C API struct: `native_type`, `type`, and `fill`.
template <class Specification>
struct lowering;

template <>
struct lowering<match_ethernet> {
  using native_type = ibv_flow_spec_eth;
  static constexpr unsigned type = IBV_FLOW_SPEC_ETH;
  static void fill(const match_ethernet& from, filter_writer<ibv_flow_eth_filter> out) noexcept;
};

template <>
struct lowering<match_ipv4> {
  using native_type = ibv_flow_spec_ipv4;
  static constexpr unsigned type = IBV_FLOW_SPEC_IPV4;
  static void fill(const match_ipv4& from, filter_writer<ibv_flow_ipv4_filter> out) noexcept;
};

template <>
struct lowering<match_ipv4_extended> {
  using native_type = ibv_flow_spec_ipv4_ext;
  static constexpr unsigned type = IBV_FLOW_SPEC_IPV4_EXT;
  static void fill(const match_ipv4_extended& from,
                   filter_writer<ibv_flow_ipv4_ext_filter> out) noexcept;
};

template <>
struct lowering<match_ipv6> {
  using native_type = ibv_flow_spec_ipv6;
  static constexpr unsigned type = IBV_FLOW_SPEC_IPV6;
  static void fill(const match_ipv6& from, filter_writer<ibv_flow_ipv6_filter> out) noexcept;
};

template <>
struct lowering<match_esp> {
  using native_type = ibv_flow_spec_esp;
  static constexpr unsigned type = IBV_FLOW_SPEC_ESP;
  static void fill(const match_esp& from, filter_writer<ibv_flow_esp_filter> out) noexcept;
};

/// TCP and UDP have their ports in the same place.
template <class Match, unsigned Type>
struct lowering_of_ports {
  using native_type = ibv_flow_spec_tcp_udp;
  static constexpr unsigned type = Type;
  static void fill(const Match& from, filter_writer<ibv_flow_tcp_udp_filter> out) noexcept {
    using filter = ibv_flow_tcp_udp_filter;
    out.number("source_port", &filter::src_port, from.source_port)
        .number("destination_port", &filter::dst_port, from.destination_port);
  }
};
template <>
struct lowering<match_tcp> : lowering_of_ports<match_tcp, IBV_FLOW_SPEC_TCP> {};
template <>
struct lowering<match_udp> : lowering_of_ports<match_udp, IBV_FLOW_SPEC_UDP> {};

template <>
struct lowering<match_vxlan> {
  using native_type = ibv_flow_spec_tunnel;
  static constexpr unsigned type = IBV_FLOW_SPEC_VXLAN_TUNNEL;
  static void fill(const match_vxlan& from, filter_writer<ibv_flow_tunnel_filter> out) noexcept {
    out.number("network_identifier", &ibv_flow_tunnel_filter::tunnel_id, from.network_identifier);
  }
};

template <>
struct lowering<match_gre> {
  using native_type = ibv_flow_spec_gre;
  static constexpr unsigned type = IBV_FLOW_SPEC_GRE;
  static void fill(const match_gre& from, filter_writer<ibv_flow_gre_filter> out) noexcept;
};

template <>
struct lowering<match_mpls> {
  using native_type = ibv_flow_spec_mpls;
  static constexpr unsigned type = IBV_FLOW_SPEC_MPLS;
  static void fill(const match_mpls& from, filter_writer<ibv_flow_mpls_filter> out) noexcept;
};

template <class Match>
struct lowering<match_inner<Match>> : lowering<Match> {
  static constexpr unsigned type = lowering<Match>::type | IBV_FLOW_SPEC_INNER;
  template <class Writer>
  static void fill(const match_inner<Match>& from, const Writer& out) noexcept {
    lowering<Match>::fill(from.match, out);
  }
};

template <>
struct lowering<action_tag> {
  using native_type = ibv_flow_spec_action_tag;
  static constexpr unsigned type = IBV_FLOW_SPEC_ACTION_TAG;
  static void fill(const action_tag& from, native_type& out) noexcept { out.tag_id = from.tag; }
};

template <>
struct lowering<action_drop> {
  using native_type = ibv_flow_spec_action_drop;
  static constexpr unsigned type = IBV_FLOW_SPEC_ACTION_DROP;
  static void fill(action_drop, native_type&) noexcept {}
};

template <>
struct lowering<action_handle> {
  using native_type = ibv_flow_spec_action_handle;
  static constexpr unsigned type = IBV_FLOW_SPEC_ACTION_HANDLE;
  static void fill(const action_handle& from, native_type& out) noexcept {
    out.action = from.action.native_handle();
  }
};

template <>
struct lowering<action_count> {
  using native_type = ibv_flow_spec_counter_action;
  static constexpr unsigned type = IBV_FLOW_SPEC_ACTION_COUNT;
  static void fill(const action_count& from, native_type& out) noexcept {
    out.counters = from.counters.native_handle();
  }
};

/// A type that a rule can contain.
template <class T>
concept flow_specification_type = requires { typename lowering<T>::native_type; };

/// Returns the C API struct of a specification, with all other bytes zero.
template <flow_specification_type Specification>
[[nodiscard]] auto lower(const Specification& specification, lowering_notes& notes) noexcept {
  using rules = lowering<Specification>;
  typename rules::native_type native;
  std::memset(&native, 0, sizeof native);
  native.type = static_cast<ibv_flow_spec_type>(rules::type);
  native.size = sizeof native;
  if constexpr (requires { native.mask; })
    rules::fill(specification, filter_writer{native.val, native.mask, notes});
  else
    rules::fill(specification, native);
  return native;
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/specification.ipp>
#endif
