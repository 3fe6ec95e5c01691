// SPDX-License-Identifier: MIT
// Conversion of numbers to bytes in a fixed byte order.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Converts a 32-bit number from host to network byte order, or back.
[[nodiscard]] constexpr std::uint32_t swap_network_order(std::uint32_t number) noexcept {
  if constexpr (std::endian::native == std::endian::little)
    return __builtin_bswap32(number);
  else
    return number;
}

/// Converts a shorter number from host to network byte order, or back.
template <std::unsigned_integral Number>
  requires(sizeof(Number) < sizeof(std::uint32_t))
[[nodiscard]] constexpr Number swap_network_order(Number number) noexcept {
  if constexpr (std::endian::native == std::endian::little && sizeof(Number) == 2)
    return __builtin_bswap16(number);
  else
    return number;
}

/// Writes a number as little-endian bytes at `Offset`.
template <std::size_t Offset, std::unsigned_integral Number, std::size_t Size>
constexpr void store_little_endian(std::array<std::byte, Size>& out, Number number) noexcept {
  static_assert(Offset + sizeof(Number) <= Size);
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    out[Offset + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
}

/// Reads a number from little-endian bytes at `Offset`.
template <std::size_t Offset, std::unsigned_integral Number, std::size_t Size>
[[nodiscard]] constexpr Number load_little_endian(std::span<const std::byte, Size> in) noexcept {
  static_assert(Offset + sizeof(Number) <= Size);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    number |= static_cast<std::uint64_t>(in[Offset + i]) << (8 * i);
  return static_cast<Number>(number);
}

}  // namespace adverb::inline ADVERB_ABI::detail
