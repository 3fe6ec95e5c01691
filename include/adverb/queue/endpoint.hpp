// SPDX-License-Identifier: MIT
// Endpoints: the data that the two sides of a connection exchange.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <adverb/core/error.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port_link.hpp>

namespace adverb::inline ADVERB_ABI {

/// Describes one end of a connection to its peer. `waiting.endpoint()` returns that of this side.
/// Send it by any means, as `encode()`d bytes or in a format of the program. Pass the peer's to
/// `rtr().remote(…)` or `connect(…)`.
///
/// Wire format: 40 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     1  version of the format: 1
///          1     1  MTU, as the code 1 (256 bytes) to 5 (4096)
///          2     2  LID
///          4     4  queue pair number
///          8     4  packet sequence number
///         12     4  queue key
///         16    16  GID, in network order
///         32     1  reads and atomics in progress, as the responder
///         33     1  reads and atomics in progress, as the requester
///         34     6  zero
struct endpoint {
  /// The size of the wire format, in bytes.
  static constexpr std::size_t encoded_size = 40;

  /// Number of the queue pair.
  qp_number number{};
  /// Packet sequence number of the first packet that this side sends.
  adverb::psn psn{};
  /// LID of the port; 0 on Ethernet.
  adverb::lid lid{};
  /// GID of the port.
  adverb::gid gid{};
  /// Largest packet that this side accepts.
  adverb::mtu mtu = adverb::mtu::bytes_1024;
  /// Maximum number of reads and atomics in progress at this side as the responder (RC).
  std::uint8_t max_destination_read_atomic = 1;
  /// Maximum number of reads and atomics in progress from this side as the requester (RC).
  std::uint8_t max_initiator_read_atomic = 1;
  /// Key that datagrams to this side must carry (UD).
  adverb::queue_key queue_key{};

  friend bool operator==(const endpoint&, const endpoint&) noexcept = default;

  /// Returns the bytes to send to a peer.
  [[nodiscard]] std::array<std::byte, encoded_size> encode() const noexcept;

  /// Decodes the bytes that a peer sent. Fails with EPROTO if they are no endpoint.
  [[nodiscard]] static endpoint decode(std::span<const std::byte, encoded_size> bytes,
                                       on_failure policy = throwing{});

 private:
  static constexpr std::byte format_version{1};
};

/// Formats an endpoint: "lid 0x0000 qp 0x11 psn 0x00abcd gid ::ffff:10.0.0.1".
[[nodiscard]] static_string<128> to_text(const endpoint& end) noexcept;

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/endpoint.ipp>
#endif
