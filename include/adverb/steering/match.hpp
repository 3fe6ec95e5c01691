// SPDX-License-Identifier: MIT
// The headers that a flow rule matches. Numbers are in host byte order here, and in network byte
// order on the wire.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <adverb/device/network_address.hpp>

namespace adverb::inline ADVERB_ABI {

/// A value with a mask: only the bits of the mask are compared. Most devices compare whole fields
/// or nothing, and refuse other masks.
template <class T>
struct masked {
  /// The value.
  T value{};
  /// The bits that are compared.
  T mask{};
};
template <class T>
masked(T, T) -> masked<T>;

namespace detail {

/// An address stored as bytes.
template <class T>
concept byte_address = requires(const T& address) {
  { address.bytes()[0] } -> std::convertible_to<std::uint8_t>;
};

template <byte_address Address>
[[nodiscard]] constexpr Address prefix_mask(unsigned length) noexcept {
  auto bytes = Address{}.bytes();
  for (unsigned bit = 0; bit < length && bit < 8 * bytes.size(); ++bit)
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | 0x80U >> bit % 8);
  return Address{bytes};
}

}  // namespace detail

/// Returns a match for all addresses that share the first `prefix_length` bits, as in 10.0.0.0/8. A
/// length that exceeds the address stands for the whole address.
[[nodiscard]] constexpr masked<ipv4_address> subnet(const ipv4_address& address,
                                                    unsigned prefix_length) noexcept {
  return {address, detail::prefix_mask<ipv4_address>(prefix_length)};
}
[[nodiscard]] constexpr masked<ipv6_address> subnet(const ipv6_address& address,
                                                    unsigned prefix_length) noexcept {
  return {address, detail::prefix_mask<ipv6_address>(prefix_length)};
}

/// A number of `Bits` bits, in host byte order, to match or ignore.
template <class T, unsigned Bits = std::numeric_limits<T>::digits>
class match_field {
  static_assert(std::unsigned_integral<T> && Bits <= std::numeric_limits<T>::digits);

 public:
  /// Ignores the field.
  constexpr match_field() noexcept = default;
  /// Matches packets that equal the value.
  constexpr match_field(T value) noexcept : value_{value}, mask_{all_ones} {}
  /// Matches packets that equal the value in the bits of the mask.
  constexpr match_field(masked<T> pattern) noexcept : value_{pattern.value}, mask_{pattern.mask} {}

  /// Returns the value in the bits of the mask.
  [[nodiscard]] constexpr T value() const noexcept { return static_cast<T>(value_ & mask_); }
  /// Returns the bits that are compared.
  [[nodiscard]] constexpr T mask() const noexcept { return mask_; }

  /// Returns the given value, even if it exceeds the field.
  [[nodiscard]] constexpr T given() const noexcept { return value_; }
  /// Returns true if the value exceeds the field.
  [[nodiscard]] constexpr bool value_too_large() const noexcept { return value_ > all_ones; }
  /// Returns true if the mask exceeds the field.
  [[nodiscard]] constexpr bool mask_too_large() const noexcept { return mask_ > all_ones; }
  /// Returns true if only some of the bits are compared.
  [[nodiscard]] constexpr bool is_partial() const noexcept {
    return mask_ != 0 && mask_ != all_ones;
  }

 private:
  static constexpr T all_ones =
      static_cast<T>(std::numeric_limits<T>::max() >> (std::numeric_limits<T>::digits - Bits));

  T value_ = 0;
  T mask_ = 0;
};

/// An address to match or ignore.
template <detail::byte_address Address, unsigned Bits>
class match_field<Address, Bits> {
 public:
  constexpr match_field() noexcept = default;
  /// Matches packets that equal the address.
  constexpr match_field(const Address& value) noexcept
      : match_field{masked<Address>{value, detail::prefix_mask<Address>(~0U)}} {}
  constexpr match_field(const masked<Address>& pattern) noexcept : mask_{pattern.mask} {
    auto bytes = pattern.value.bytes();
    for (std::size_t index = 0; index < bytes.size(); ++index)
      bytes[index] = static_cast<std::uint8_t>(bytes[index] & mask_.bytes()[index]);
    value_ = Address{bytes};
  }

  /// Returns the address in the bits of the mask.
  [[nodiscard]] constexpr const Address& value() const noexcept { return value_; }
  /// Returns the bits that are compared.
  [[nodiscard]] constexpr const Address& mask() const noexcept { return mask_; }
  /// Returns true if only some of the bits are compared.
  [[nodiscard]] constexpr bool is_partial() const noexcept {
    return mask_ != Address{} && mask_ != detail::prefix_mask<Address>(~0U);
  }

 private:
  Address value_{};
  Address mask_{};
};

/// An Ethernet header.
struct match_ethernet {
  /// The destination address.
  match_field<mac_address> destination{};
  /// The source address.
  match_field<mac_address> source{};
  /// The type after the last VLAN tag, for example 0x0800 (IPv4).
  match_field<std::uint16_t> ether_type{};
  /// The fields of the VLAN tag.
  match_field<std::uint16_t, 12> vlan_id{};
  /// The priority in the VLAN tag.
  match_field<std::uint8_t, 3> vlan_priority{};
  /// The drop eligible indicator in the VLAN tag.
  match_field<bool> vlan_drop_eligible{};
};

/// The addresses of an IPv4 header.
struct match_ipv4 {
  /// The source address.
  match_field<ipv4_address> source{};
  /// The destination address.
  match_field<ipv4_address> destination{};
};

/// An IPv4 header with more fields than `match_ipv4`. Fewer devices support it.
struct match_ipv4_extended {
  /// The source address.
  match_field<ipv4_address> source{};
  /// The destination address.
  match_field<ipv4_address> destination{};
  /// For example 6 (TCP) or 17 (UDP).
  match_field<std::uint8_t> protocol{};
  /// The type of service.
  match_field<std::uint8_t> type_of_service{};
  /// The time to live.
  match_field<std::uint8_t> time_to_live{};
  /// 2: do not fragment; 4: more fragments follow.
  match_field<std::uint8_t> flags{};
};

/// An IPv6 header.
struct match_ipv6 {
  /// The source address.
  match_field<ipv6_address> source{};
  /// The destination address.
  match_field<ipv6_address> destination{};
  /// The flow label.
  match_field<std::uint32_t, 20> flow_label{};
  /// For example 6 (TCP) or 17 (UDP).
  match_field<std::uint8_t> next_header{};
  /// The traffic class.
  match_field<std::uint8_t> traffic_class{};
  /// The hop limit.
  match_field<std::uint8_t> hop_limit{};
};

/// The header of an encrypted packet (IPsec ESP).
struct match_esp {
  /// The index that identifies the security association.
  match_field<std::uint32_t> security_parameters_index{};
  /// The sequence number.
  match_field<std::uint32_t> sequence_number{};
};

/// The ports of a TCP header.
struct match_tcp {
  /// The source port.
  match_field<std::uint16_t> source_port{};
  /// The destination port.
  match_field<std::uint16_t> destination_port{};
};

/// The ports of a UDP header.
struct match_udp {
  /// The source port.
  match_field<std::uint16_t> source_port{};
  /// The destination port.
  match_field<std::uint16_t> destination_port{};
};

/// The header of a VXLAN tunnel.
struct match_vxlan {
  /// The VXLAN network identifier.
  match_field<std::uint32_t, 24> network_identifier{};
};

/// The header of a GRE tunnel.
struct match_gre {
  /// True if the header has a checksum.
  match_field<bool> checksum_present{};
  /// True if the header has a key.
  match_field<bool> key_present{};
  /// True if the header has a sequence number.
  match_field<bool> sequence_number_present{};
  /// The version of GRE.
  match_field<std::uint8_t, 3> version{};
  /// The ether type of the payload.
  match_field<std::uint16_t> protocol{};
  /// The key.
  match_field<std::uint32_t> key{};
};

/// One entry of an MPLS label stack, at its position in the packet.
struct match_mpls {
  /// The label.
  match_field<std::uint32_t, 20> label{};
  /// The traffic class.
  match_field<std::uint8_t, 3> traffic_class{};
  /// True for the last entry of the stack.
  match_field<bool> bottom_of_stack{};
  /// The time to live.
  match_field<std::uint8_t> time_to_live{};
};

/// A header inside a tunnel: match_inner{match_ipv4{.source = …}}.
template <class Match>
struct match_inner {
  /// The match of the inner header.
  Match match;
};
template <class Match>
match_inner(Match) -> match_inner<Match>;

}  // namespace adverb::inline ADVERB_ABI
