// SPDX-License-Identifier: MIT
// The counts of message channels.
#pragma once

#include <chrono>
#include <cstdint>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

/// The counts of one end of a channel since its start. A message that is offered counts when it is
/// offered. A message that waits counts as a stall.
struct channel_statistics {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  /// The messages sent and received that were offered, because they fit into no receive.
  std::uint64_t offers_sent = 0;
  std::uint64_t offers_received = 0;
  /// The bytes copied into frames, and by `incoming::receive_into` out of receives.
  std::uint64_t bytes_copied = 0;
  /// The messages that waited because the program of the peer held its receives, and how long.
  std::uint64_t stalls_for_credit = 0;
  std::chrono::nanoseconds stalled_for_credit{0};
  /// The messages that waited for frames in progress, and how long.
  std::uint64_t stalls_for_room = 0;
  std::chrono::nanoseconds stalled_for_room{0};
};

}  // namespace adverb::inline ADVERB_ABI::messages
