// SPDX-License-Identifier: MIT
// What a datagram (UD) is received with: the header that it came with, and its payload.
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

/// The bytes at the start of every receive buffer of datagrams that are kept for the header,
/// whether one comes or not: a buffer for payloads of n bytes has grh_size + n.
inline constexpr std::size_t grh_size = sizeof(ibv_grh);
static_assert(grh_size == 40);

/// The global route header (GRH) that a datagram came with: a view of the first 40 bytes of the
/// buffer, valid as long as these are. They hold a header when `message.has_grh()` says so.
///
/// On InfiniBand, RoCE v1 and RoCE v2 over IPv6 it is laid out as an IPv6 header. RoCE v2 over IPv4
/// leaves an IPv4 header in the last 20 of the 40 bytes; the first 20 then mean nothing.
class global_route_header {
 public:
  explicit global_route_header(std::span<const std::byte, grh_size> bytes) noexcept
      : bytes_{bytes}, version_{find_version()} {}

  /// 6 or 4: which kind of header it is. 0 when it is neither, and nothing else of it means
  /// anything.
  [[nodiscard]] unsigned version() const noexcept { return version_; }
  [[nodiscard]] bool is_ipv4() const noexcept { return version_ == 4; }

  /// The traffic class, or the type of service of IPv4.
  [[nodiscard]] std::uint8_t traffic_class() const noexcept {
    return is_ipv4() ? byte(ipv4 + 1) : static_cast<std::uint8_t>(word(0) >> 4);
  }
  /// 20 bits; 0 with IPv4, which has none.
  [[nodiscard]] std::uint32_t flow_label() const noexcept {
    return is_ipv4() ? 0 : static_cast<std::uint32_t>(byte(1) & 0xf) << 16 | word(2);
  }
  /// The bytes that came behind this header: the payload, and the other headers around it.
  [[nodiscard]] std::uint16_t payload_length() const noexcept {
    return is_ipv4() ? static_cast<std::uint16_t>(word(ipv4 + 2) - ipv4_size) : word(4);
  }
  /// What comes behind this header, as a number of the IP protocols: 17 (UDP) with RoCE v2, 27 (an
  /// InfiniBand header) elsewhere.
  [[nodiscard]] std::uint8_t next_header() const noexcept {
    return is_ipv4() ? byte(ipv4 + 9) : byte(6);
  }
  /// The hop limit, or the time to live of IPv4.
  [[nodiscard]] std::uint8_t hop_limit() const noexcept {
    return is_ipv4() ? byte(ipv4 + 8) : byte(7);
  }
  /// The GID of the sender; an IPv4 address as ::ffff:a.b.c.d.
  [[nodiscard]] gid source() const noexcept {
    return is_ipv4() ? mapped_gid(ipv4 + 12) : gid_at(8);
  }
  /// The GID that it was sent to: an own one, or that of a multicast group.
  [[nodiscard]] gid destination() const noexcept {
    return is_ipv4() ? mapped_gid(ipv4 + 16) : gid_at(24);
  }

  /// The same as a C struct.
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

  /// What stands before an IPv4 header may look like the start of an IPv6 one, and the middle of a
  /// GID like the start of an IPv4 one; the checksum of IPv4 tells.
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

/// What a datagram carried: the bytes of its receive buffer behind the header area. `message` is
/// the view of its completion, and `buffer` all that was posted for it.
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
