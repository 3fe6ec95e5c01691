// SPDX-License-Identifier: MIT
// The line by which ping-pong programs, ours and rdma-core's, tell each other their addresses:
// LID, queue pair number, packet sequence number and GID, all in base 16, and a null character.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <adverb/queue/endpoint.hpp>

namespace examples {

inline constexpr std::string_view line_pattern =
    "0000:000000:000000:00000000000000000000000000000000";
using pingpong_line = std::array<char, line_pattern.size() + 1>;

[[nodiscard]] inline pingpong_line line_of(const adverb::endpoint& end) {
  std::array<char, 33> gid{};
  for (std::size_t i = 0; i < 16; ++i)
    std::snprintf(&gid[2 * i], 3, "%02x", static_cast<unsigned>(end.gid.bytes()[i]));
  pingpong_line line{};
  std::snprintf(line.data(), line.size(), "%04x:%06x:%06x:%s", static_cast<unsigned>(end.lid),
                static_cast<unsigned>(end.number), end.sequence_number.value(), gid.data());
  return line;
}

/// True when the line has digits, colons and the null character just where the pattern has them.
[[nodiscard]] inline bool has_line_pattern(const pingpong_line& line) {
  const auto is_digit = [](char character) {
    return std::string_view{"0123456789abcdefABCDEF"}.find(character) != std::string_view::npos;
  };
  return line.back() == '\0' && std::equal(line_pattern.begin(), line_pattern.end(), line.begin(),
                                           [&](char expected, char found) {
                                             return expected == '0' ? is_digit(found)
                                                                    : found == expected;
                                           });
}

/// The number that some digits of a line stand for.
template <class Number>
[[nodiscard]] Number number_at(const pingpong_line& line, std::size_t begin, std::size_t digits) {
  Number number{};
  std::from_chars(&line[begin], &line[begin] + digits, number, 16);
  return number;
}

[[nodiscard]] inline adverb::endpoint endpoint_of(const pingpong_line& line) {
  if (!has_line_pattern(line)) {
    std::string shown{line.begin(), line.end()};
    std::replace_if(
        shown.begin(), shown.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
    throw std::runtime_error{"the peer sent the malformed address \"" + shown +
                             "\"; is it a ping-pong program?"};
  }
  std::array<std::uint8_t, 16> gid{};
  for (std::size_t i = 0; i < 16; ++i) gid[i] = number_at<std::uint8_t>(line, 19 + 2 * i, 2);
  return {.number = adverb::qp_number{number_at<std::uint32_t>(line, 5, 6)},
          .sequence_number = adverb::packet_sequence_number{number_at<std::uint32_t>(line, 12, 6)},
          .lid = adverb::lid{number_at<std::uint16_t>(line, 0, 4)},
          .gid = adverb::gid{gid}};
}

}  // namespace examples
