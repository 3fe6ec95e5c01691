// SPDX-License-Identifier: MIT
// Conversion of numbers to bytes in a fixed byte order.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

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

/// Converts a number from host to little-endian byte order, or back.
template <std::unsigned_integral Number>
[[nodiscard]] constexpr Number swap_little_endian(Number number) noexcept {
  if constexpr (std::endian::native == std::endian::little || sizeof(Number) == 1)
    return number;
  else if constexpr (sizeof(Number) == 2)
    return __builtin_bswap16(number);
  else if constexpr (sizeof(Number) == 4)
    return __builtin_bswap32(number);
  else
    return __builtin_bswap64(number);
}

/// Writes a number as little-endian bytes at `Offset`.
// GCC 12 does not merge a loop over the bytes into one store or load.
template <std::size_t Offset, std::unsigned_integral Number, std::size_t Size>
constexpr void store_little_endian(std::array<std::byte, Size>& out, Number number) noexcept {
  static_assert(Offset + sizeof(Number) <= Size);
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      out[Offset + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
  } else {
    const Number swapped = swap_little_endian(number);
    __builtin_memcpy(out.data() + Offset, &swapped, sizeof swapped);
  }
}

/// Reads a number from little-endian bytes at `Offset`.
template <std::size_t Offset, std::unsigned_integral Number, std::size_t Size>
[[nodiscard]] constexpr Number load_little_endian(std::span<const std::byte, Size> in) noexcept {
  static_assert(Offset + sizeof(Number) <= Size);
  if (std::is_constant_evaluated()) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      number |= static_cast<std::uint64_t>(in[Offset + i]) << (8 * i);
    return static_cast<Number>(number);
  }
  Number number;
  __builtin_memcpy(&number, in.data() + Offset, sizeof number);
  return swap_little_endian(number);
}

}  // namespace adverb::inline ADVERB_ABI::detail
