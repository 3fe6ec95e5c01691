// SPDX-License-Identifier: MIT
// Addresses in packet headers: MAC, IPv4 and IPv6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <adverb/device/gid.hpp>

namespace adverb::inline ADVERB_ABI {

/// The MAC address of an Ethernet interface: mac_address{0x52, 0x54, 0x00, 0x12, 0x34, 0x56}.
class mac_address {
 public:
  constexpr mac_address() noexcept = default;
  /// Makes an address of its bytes, in the order in which they are written.
  constexpr mac_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                        std::uint8_t e, std::uint8_t f) noexcept
      : bytes_{a, b, c, d, e, f} {}
  constexpr explicit mac_address(const std::array<std::uint8_t, 6>& bytes) noexcept
      : bytes_{bytes} {}

  /// Returns the bytes in network order.
  [[nodiscard]] constexpr const std::array<std::uint8_t, 6>& bytes() const noexcept {
    return bytes_;
  }
  friend constexpr bool operator==(const mac_address&, const mac_address&) noexcept = default;

 private:
  std::array<std::uint8_t, 6> bytes_{};
};

/// An IPv4 address: ipv4_address{10, 0, 0, 1}.
class ipv4_address {
 public:
  constexpr ipv4_address() noexcept = default;
  /// Makes an address of its bytes, in the order in which they are written.
  constexpr ipv4_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) noexcept
      : bytes_{a, b, c, d} {}
  constexpr explicit ipv4_address(const std::array<std::uint8_t, 4>& bytes) noexcept
      : bytes_{bytes} {}

  /// Returns the bytes in network order.
  [[nodiscard]] constexpr const std::array<std::uint8_t, 4>& bytes() const noexcept {
    return bytes_;
  }
  friend constexpr bool operator==(const ipv4_address&, const ipv4_address&) noexcept = default;

 private:
  std::array<std::uint8_t, 4> bytes_{};
};

/// An IPv6 address, in its eight groups: ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1}.
class ipv6_address {
 public:
  constexpr ipv6_address() noexcept = default;
  constexpr ipv6_address(std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t d,
                         std::uint16_t e, std::uint16_t f, std::uint16_t g,
                         std::uint16_t h) noexcept {
    const std::array<std::uint16_t, 8> groups{a, b, c, d, e, f, g, h};
    for (std::size_t index = 0; index < groups.size(); ++index) {
      bytes_[2 * index] = static_cast<std::uint8_t>(groups[index] >> 8);
      bytes_[2 * index + 1] = static_cast<std::uint8_t>(groups[index] & 0xff);
    }
  }
  constexpr explicit ipv6_address(const std::array<std::uint8_t, 16>& bytes) noexcept
      : bytes_{bytes} {}
  /// Converts a GID. On RoCE v2 the GID of a port is its IPv6 address.
  constexpr explicit ipv6_address(const gid& address) noexcept : bytes_{address.bytes()} {}

  /// Returns the bytes in network order.
  [[nodiscard]] constexpr const std::array<std::uint8_t, 16>& bytes() const noexcept {
    return bytes_;
  }
  friend constexpr bool operator==(const ipv6_address&, const ipv6_address&) noexcept = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

/// Formats an address: "52:54:00:12:34:56".
[[nodiscard]] constexpr static_string<24> to_text(const mac_address& address) noexcept {
  return static_string<24>{[&](text_writer& writer) {
    for (std::size_t index = 0; index < 6; ++index)
      writer.put(index != 0 ? ":" : "").hexadecimal(address.bytes()[index], 2);
  }};
}

/// Formats an address: "10.0.0.1".
[[nodiscard]] constexpr static_string<24> to_text(const ipv4_address& address) noexcept {
  return static_string<24>{[&](text_writer& writer) {
    for (std::size_t index = 0; index < 4; ++index)
      writer.put(index != 0 ? "." : "").decimal(address.bytes()[index]);
  }};
}

/// Formats an address: "2001:db8::1".
[[nodiscard]] constexpr static_string<40> to_text(const ipv6_address& address) noexcept {
  return to_text(gid{address.bytes()});
}

}  // namespace adverb::inline ADVERB_ABI
