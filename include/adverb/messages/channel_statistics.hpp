// SPDX-License-Identifier: MIT
// The counts of message channels.
#pragma once

#include <chrono>
#include <cstdint>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

/// The counts of one end of a channel since its start. A message that waits counts as a stall.
struct channel_statistics {
  /// The messages that were sent or offered.
  std::uint64_t messages_sent = 0;
  /// The bytes of these messages.
  std::uint64_t bytes_sent = 0;
  /// The messages that arrived, and the offers.
  std::uint64_t messages_received = 0;
  /// The bytes of these messages.
  std::uint64_t bytes_received = 0;
  /// The messages that were offered, because they fit into no receive of the peer.
  std::uint64_t offers_sent = 0;
  /// The messages that the peer offered.
  std::uint64_t offers_received = 0;
  /// The bytes copied into frames, and by `incoming::receive_into` out of receives.
  std::uint64_t bytes_copied = 0;
  /// The messages that waited because the program of the peer held its receives.
  std::uint64_t stalls_for_credit = 0;
  /// The time that they waited, in all.
  std::chrono::nanoseconds stalled_for_credit{0};
  /// The messages that waited for frames in progress.
  std::uint64_t stalls_for_room = 0;
  /// The time that they waited, in all.
  std::chrono::nanoseconds stalled_for_room{0};
  /// The broken links that another one has replaced.
  std::uint64_t resumptions = 0;
  /// The messages that were sent again, because the peer had not received them.
  std::uint64_t messages_replayed = 0;
};

}  // namespace adverb::inline ADVERB_ABI::messages
