// SPDX-License-Identifier: MIT
// The line with which the ping-pong programs, ours and rdma-core's, exchange their addresses: LID,
// queue pair number, packet sequence number and GID.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <adverb/queue/endpoint.hpp>

#include "common/hexadecimal_line.hpp"

namespace examples {

inline constexpr std::string_view line_pattern =
    "0000:000000:000000:00000000000000000000000000000000";
using pingpong_line = std::array<char, line_pattern.size() + 1>;

[[nodiscard]] inline pingpong_line line_of(const adverb::endpoint& end) {
  pingpong_line line{};
  std::snprintf(line.data(), line.size(), "%04x:%06x:%06x:%s", static_cast<unsigned>(end.lid),
                static_cast<unsigned>(end.number), end.psn.value(), gid_digits(end.gid).data());
  return line;
}

[[nodiscard]] inline adverb::endpoint endpoint_of(const pingpong_line& line) {
  check_line(line, line_pattern);
  return {.number = adverb::qp_number{number_at<std::uint32_t>(line, 5, 6)},
          .psn = adverb::psn{number_at<std::uint32_t>(line, 12, 6)},
          .lid = adverb::lid{number_at<std::uint16_t>(line, 0, 4)},
          .gid = gid_at(line, 19)};
}

}  // namespace examples
