// SPDX-License-Identifier: MIT
// Lines of numbers in base 16 between colons, ended by a null character. rdma-core's example
// programs exchange their addresses in this form.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <adverb/device/gid.hpp>

namespace examples {

/// The 32 digits of a GID, and a null character.
[[nodiscard]] inline std::array<char, 33> gid_digits(const adverb::gid& gid) {
  std::array<char, 33> digits{};
  for (std::size_t i = 0; i < 16; ++i)
    std::snprintf(&digits[2 * i], 3, "%02x", static_cast<unsigned>(gid.bytes()[i]));
  return digits;
}

/// Throws unless the line has digits, colons and the null character at the same places as the
/// pattern.
inline void check_line(std::span<const char> line, std::string_view pattern) {
  const auto is_digit = [](char character) {
    return std::string_view{"0123456789abcdefABCDEF"}.find(character) != std::string_view::npos;
  };
  const bool fits =
      line.back() == '\0' &&
      std::equal(pattern.begin(), pattern.end(), line.begin(), [&](char expected, char found) {
        return expected == '0' ? is_digit(found) : found == expected;
      });
  if (fits) return;
  std::string shown{line.begin(), line.end()};
  std::replace_if(
      shown.begin(), shown.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  throw std::runtime_error{"the peer sent the malformed address \"" + shown +
                           "\"; is it a ping-pong program?"};
}

/// Returns the number in some digits of a line.
template <class Number>
[[nodiscard]] Number number_at(std::span<const char> line, std::size_t begin, std::size_t digits) {
  Number number{};
  std::from_chars(&line[begin], &line[begin] + digits, number, 16);
  return number;
}

[[nodiscard]] inline adverb::gid gid_at(std::span<const char> line, std::size_t begin) {
  std::array<std::uint8_t, 16> gid{};
  for (std::size_t i = 0; i < 16; ++i) gid[i] = number_at<std::uint8_t>(line, begin + 2 * i, 2);
  return adverb::gid{gid};
}

}  // namespace examples
