// SPDX-License-Identifier: MIT
// Received datagrams (UD): the header and the payload.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <infiniband/verbs.h>

#include <adverb/device/gid.hpp>

namespace adverb::inline ADVERB_ABI {

/// Size of the header area at the start of every receive buffer for datagrams, in bytes. The area
/// is reserved even if no header arrives: payloads of n bytes need a buffer of grh_size + n.
inline constexpr std::size_t grh_size = sizeof(ibv_grh);
static_assert(grh_size == 40);

/// The global route header (GRH) of a datagram: a view of the first 40 bytes of the buffer. Valid
/// as long as these bytes are. They hold a header if `message.has_grh()` returns true.
///
/// InfiniBand, RoCE v1 and RoCE v2 over IPv6 use the layout of an IPv6 header. RoCE v2 over IPv4
/// stores an IPv4 header in the last 20 of the 40 bytes; the first 20 are undefined.
class global_route_header {
 public:
  /// Views the first bytes of a receive buffer.
  explicit global_route_header(std::span<const std::byte, grh_size> bytes) noexcept
      : bytes_{bytes}, version_{find_version()} {}

  /// Returns the kind of header: 6 or 4, or 0 if it is neither. No other member has a meaning if it
  /// is 0.
  [[nodiscard]] unsigned version() const noexcept { return version_; }
  /// Returns true for an IPv4 header.
  [[nodiscard]] bool is_ipv4() const noexcept { return version_ == 4; }

  /// Returns the traffic class, or the type of service of IPv4.
  [[nodiscard]] std::uint8_t traffic_class() const noexcept {
    return is_ipv4() ? byte(ipv4 + 1) : static_cast<std::uint8_t>(word(0) >> 4);
  }
  /// Returns the flow label, 20 bits; 0 with IPv4, which has none.
  [[nodiscard]] std::uint32_t flow_label() const noexcept {
    return is_ipv4() ? 0 : static_cast<std::uint32_t>(byte(1) & 0xf) << 16 | word(2);
  }
  /// Returns the number of bytes after this header: the payload and the headers around it.
  [[nodiscard]] std::uint16_t payload_length() const noexcept {
    return is_ipv4() ? static_cast<std::uint16_t>(word(ipv4 + 2) - ipv4_size) : word(4);
  }
  /// Returns the number of the IP protocol after this header: 17 (UDP) with RoCE v2, 27 (an
  /// InfiniBand header) elsewhere.
  [[nodiscard]] std::uint8_t next_header() const noexcept {
    return is_ipv4() ? byte(ipv4 + 9) : byte(6);
  }
  /// Returns the hop limit, or the time to live of IPv4.
  [[nodiscard]] std::uint8_t hop_limit() const noexcept {
    return is_ipv4() ? byte(ipv4 + 8) : byte(7);
  }
  /// Returns the GID of the sender; an IPv4 address as ::ffff:a.b.c.d.
  [[nodiscard]] gid source() const noexcept {
    return is_ipv4() ? mapped_gid(ipv4 + 12) : gid_at(8);
  }
  /// Returns the destination GID: a local GID or that of a multicast group.
  [[nodiscard]] gid destination() const noexcept {
    return is_ipv4() ? mapped_gid(ipv4 + 16) : gid_at(24);
  }

  /// Returns the header as a C struct.
  [[nodiscard]] ibv_grh native() const noexcept {
    ibv_grh native;
    std::memcpy(&native, bytes_.data(), sizeof native);
    return native;
  }

 private:
  static constexpr std::size_t ipv4 = 20;
  static constexpr std::size_t ipv4_size = 20;

  [[nodiscard]] std::uint8_t byte(std::size_t at) const noexcept {
    return std::to_integer<std::uint8_t>(bytes_[at]);
  }
  [[nodiscard]] std::uint16_t word(std::size_t at) const noexcept {
    return static_cast<std::uint16_t>(byte(at) << 8 | byte(at + 1));
  }
  [[nodiscard]] gid gid_at(std::size_t at) const noexcept {
    std::array<std::uint8_t, 16> found{};
    std::memcpy(found.data(), &bytes_[at], found.size());
    return gid{found};
  }
  [[nodiscard]] gid mapped_gid(std::size_t at) const noexcept {
    return gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, byte(at), byte(at + 1), byte(at + 2),
                byte(at + 3)}};
  }

  /// Returns the version. The bytes before an IPv4 header may look like the start of an IPv6
  /// header, and the middle of a GID like the start of an IPv4 header; the IPv4 checksum decides.
  [[nodiscard]] unsigned find_version() const noexcept {
    const unsigned first = byte(0) >> 4;
    const bool may_be_ipv4 = byte(ipv4) >> 4 == 4;
    if (first != 6) return may_be_ipv4 ? 4 : 0;
    constexpr unsigned version_and_length_of_ipv4 = 0x45;
    return byte(ipv4) == version_and_length_of_ipv4 && has_ipv4_checksum() ? 4 : 6;
  }
  [[nodiscard]] bool has_ipv4_checksum() const noexcept {
    std::uint32_t sum = 0;
    for (std::size_t at = ipv4; at < grh_size; at += 2) sum += word(at);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff;
  }

  std::span<const std::byte, grh_size> bytes_;
  unsigned version_;
};

/// Returns the payload of a datagram: the bytes of its receive buffer after the header area.
/// `message` is the view of its completion, and `buffer` the whole posted buffer.
template <class Message>
  requires requires(const Message& message) {
    { message.length() } noexcept -> std::convertible_to<std::size_t>;
  }
[[nodiscard]] std::span<const std::byte> datagram_payload(std::span<const std::byte> buffer,
                                                          const Message& message) noexcept {
  const std::size_t length = message.length();
  const std::size_t end = length < buffer.size() ? length : buffer.size();
  return end > grh_size ? buffer.first(end).subspan(grh_size) : std::span<const std::byte>{};
}

}  // namespace adverb::inline ADVERB_ABI
