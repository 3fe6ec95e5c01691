// SPDX-License-Identifier: MIT
// A checksum with which two programs check that they have the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace examples {

/// Depends on the order of the bytes, too (FNV-1a).
class checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte each : bytes)
      value_ = (value_ ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3;
  }

  /// The sum in the form that is sent to the peer.
  [[nodiscard]] std::array<std::byte, 8> encode() const noexcept {
    std::array<std::byte, 8> bytes{};
    for (unsigned index = 0; index < bytes.size(); ++index)
      bytes[index] = static_cast<std::byte>(value_ >> (8 * index));
    return bytes;
  }
  [[nodiscard]] unsigned long long value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace examples
