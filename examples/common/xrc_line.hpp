// SPDX-License-Identifier: MIT
// The line with which XRC ping-pong programs, ours and rdma-core's, exchange their addresses: LID,
// numbers of the target and of the initiator, packet sequence number of both, number of the shared
// receive queue, and GID.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <adverb/queue/endpoint.hpp>

#include "common/hexadecimal_line.hpp"

namespace examples {

/// The addresses that one side of an extended reliable connection sends to the other.
struct xrc_address {
  /// The destination of the peer's initiator.
  adverb::endpoint target;
  /// The source of the messages to the peer's target. It differs in its number only.
  adverb::endpoint initiator;
  adverb::shared_receive_queue_number queue;
};

inline constexpr std::string_view xrc_pattern =
    "0000:000000:000000:000000:000000:00000000000000000000000000000000";
using xrc_line = std::array<char, xrc_pattern.size() + 1>;

[[nodiscard]] inline xrc_line line_of(const xrc_address& address) {
  xrc_line line{};
  std::snprintf(line.data(), line.size(), "%04x:%06x:%06x:%06x:%06x:%s",
                static_cast<unsigned>(address.target.lid),
                static_cast<unsigned>(address.target.number),
                static_cast<unsigned>(address.initiator.number), address.target.psn.value(),
                static_cast<unsigned>(address.queue), gid_digits(address.target.gid).data());
  return line;
}

[[nodiscard]] inline xrc_address xrc_address_of(const xrc_line& line) {
  check_line(line, xrc_pattern);
  const adverb::endpoint target{.number = adverb::qp_number{number_at<std::uint32_t>(line, 5, 6)},
                                .psn = adverb::psn{number_at<std::uint32_t>(line, 19, 6)},
                                .lid = adverb::lid{number_at<std::uint16_t>(line, 0, 4)},
                                .gid = gid_at(line, 33)};
  adverb::endpoint initiator = target;
  initiator.number = adverb::qp_number{number_at<std::uint32_t>(line, 12, 6)};
  return {.target = target,
          .initiator = initiator,
          .queue = adverb::shared_receive_queue_number{number_at<std::uint32_t>(line, 26, 6)}};
}

}  // namespace examples
