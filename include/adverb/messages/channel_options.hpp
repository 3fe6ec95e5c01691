// SPDX-License-Identifier: MIT
// The options of message channels.
#pragma once

#include <cstdint>

#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

/// The network of a channel.
enum class network : std::uint8_t {
  /// RDMA where both ends have it, and TCP otherwise.
  any,
  rdma,
  tcp,
};

/// The options of one end of a channel. The ends may differ: each respects the sizes of the other,
/// and the smaller of both `longest`, `dead_after` and `resume_within` holds for both.
struct channel_options {
  /// The network that the channel may have. `channel::over` returns which it became.
  network over = network::any;
  /// Number of messages that the peer can send before the program has taken the first, plus two
  /// that are kept for answers. At least 4.
  std::uint32_t receives = 32;
  /// Size of a receive in bytes, of which the header of a frame takes 16, and the size of the
  /// longest frame. A message that does not fit into the smaller `block_size` of both ends is
  /// offered to its receiver first. At least 64.
  std::uint32_t block_size = 4096;
  /// Takes the receives over RDMA from those that the connections of the loop share
  /// (`device_loop_options::shared_receives`), so that many clients need little memory. The peer is
  /// granted four of them, as many as two messages and two answers take, and lent more, up to
  /// `receives`, while it sends and some are left. Each channel keeps two more. `block_size` is at
  /// most `shared_block_size` of the loop. No other connection may share them. Over TCP, each
  /// channel has its own.
  bool shared = false;
  /// Maximum number of frames in progress, of which two are kept for answers. At least 4.
  std::uint32_t max_frames = 32;
  /// Size of the longest message in bytes.
  std::uint32_t longest = std::uint32_t{64} << 20;
  /// The time without a sign of life of the peer's process after which the channel ends with
  /// ETIMEDOUT, at least 20 milliseconds. An idle peer is probed, and its loop answers.
  timeout dead_after = detail::seconds{10};
  /// The program runs the loop only while it waits, so the peer does not take its silence for its
  /// death. The end of its machine, or of its process, still ends the channel.
  bool is_blocking = false;
  /// The time for the peer to answer a connect, and to complete an accepted connection.
  timeout connect_timeout = detail::seconds{10};
  /// The time for the peer to confirm `close`.
  timeout close_timeout = detail::seconds{10};
  /// The time to connect a broken link again, after which the channel ends with the failure of the
  /// link. Until then its steps wait, and every message arrives once. 0 turns that off, and both
  /// ends must set it. A message then keeps its frame, and a `send` its registered memory, until
  /// the peer has confirmed the message, so `max_frames` bounds the messages without confirmation.
  timeout resume_within = detail::seconds{0};
};

}  // namespace adverb::inline ADVERB_ABI::messages
