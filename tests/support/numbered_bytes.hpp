// SPDX-License-Identifier: MIT
// The bytes of messages in the tests, which follow from the number of the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace channel_test {

/// The byte at a place of a message.
[[nodiscard]] inline std::byte byte_at(std::uint64_t message, std::size_t place) {
  return static_cast<std::byte>(message * 31 + place * 7 + place / 256);
}

inline void fill(std::span<std::byte> bytes, std::uint64_t message) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(message, i);
}

[[nodiscard]] inline bool is_filled(std::span<const std::byte> bytes, std::uint64_t message) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != byte_at(message, i)) return false;
  return true;
}

}  // namespace channel_test
