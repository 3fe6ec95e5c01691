// SPDX-License-Identifier: MIT
// Receive-side scaling: the distribution of received packets over work queues.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// A hash function that distributes packets.
enum class hash_function : std::uint8_t {
  toeplitz = IBV_RX_HASH_FUNC_TOEPLITZ,
};
template <>
inline constexpr bool is_flag<hash_function> = true;
using hash_functions = flags<hash_function>;

[[nodiscard]] constexpr std::string_view flag_name(hash_function function) noexcept {
  return function == hash_function::toeplitz ? "toeplitz" : "";
}

/// A packet field that takes part in the hash.
enum class hash_field : std::uint64_t {
  source_ipv4 = IBV_RX_HASH_SRC_IPV4,
  destination_ipv4 = IBV_RX_HASH_DST_IPV4,
  source_ipv6 = IBV_RX_HASH_SRC_IPV6,
  destination_ipv6 = IBV_RX_HASH_DST_IPV6,
  source_tcp_port = IBV_RX_HASH_SRC_PORT_TCP,
  destination_tcp_port = IBV_RX_HASH_DST_PORT_TCP,
  source_udp_port = IBV_RX_HASH_SRC_PORT_UDP,
  destination_udp_port = IBV_RX_HASH_DST_PORT_UDP,
  security_parameters_index = IBV_RX_HASH_IPSEC_SPI,
  /// Uses the fields of the inner packet of a tunnel.
  inner = std::uint64_t{1} << 31,  // IBV_RX_HASH_INNER: signed in some versions
};
template <>
inline constexpr bool is_flag<hash_field> = true;
using hash_fields = flags<hash_field>;

[[nodiscard]] constexpr std::string_view flag_name(hash_field field) noexcept {
  switch (field) {
    case hash_field::source_ipv4: return "source_ipv4";
    case hash_field::destination_ipv4: return "destination_ipv4";
    case hash_field::source_ipv6: return "source_ipv6";
    case hash_field::destination_ipv6: return "destination_ipv6";
    case hash_field::source_tcp_port: return "source_tcp_port";
    case hash_field::destination_tcp_port: return "destination_tcp_port";
    case hash_field::source_udp_port: return "source_udp_port";
    case hash_field::destination_udp_port: return "destination_udp_port";
    case hash_field::security_parameters_index: return "security_parameters_index";
    case hash_field::inner: return "inner";
  }
  return {};
}

/// The support of a device for receive-side scaling.
struct receive_side_scaling {
  transport_set transports{};
  std::uint32_t max_indirection_tables = 0;
  /// The maximum number of work queues in one table.
  std::uint32_t max_indirection_table_size = 0;
  hash_fields fields{};
  hash_functions functions{};

  friend constexpr bool operator==(const receive_side_scaling&,
                                   const receive_side_scaling&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
