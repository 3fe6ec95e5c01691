// SPDX-License-Identifier: MIT
// The options of asynchronous connections and endpoints.
#pragma once

#include <cstdint>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// The options of an asynchronous connection, or of an endpoint for datagrams.
struct connection_options {
  /// Maximum number of requests in progress, at least 1. Later sends wait for room.
  std::uint32_t max_send_wr = 32;
  /// Number of blocks that are posted as receives, at least 1. The peer can send this many messages
  /// before the program has taken the first.
  std::uint32_t receives = 32;
  /// Size of each block in bytes: of the longest message. At least 1.
  std::uint32_t block_size = 4096;
  /// Takes the receives from those that the connections of the loop share
  /// (`device_loop_options::shared_receives`), not from `receives` blocks of its own.
  bool shared = false;
  /// Minimum number of elements of a request.
  std::uint32_t max_send_sge = 1;
  /// Minimum number of bytes that a request can carry inline.
  std::uint32_t max_inline_data = 0;
  /// The time for the peer to answer a connect, and to complete an accepted connection. The step
  /// fails with ETIMEDOUT afterwards. It may be late by 20 milliseconds.
  timeout connect_timeout = detail::seconds{10};
  /// The time for the peer and the device to answer the end of the connection. Afterwards the loop
  /// destroys the queue pair, and steps in progress fail with ECONNRESET. If the peer has not
  /// confirmed the end by then, `disconnect` fails with ETIMEDOUT.
  timeout end_timeout = detail::seconds{2};
  /// The parameters for the peer. `max_initiator_read_atomic` limits the reads and atomics in
  /// progress on this side, and `max_destination_read_atomic` those of the peer.
  cm::connection_parameters connection{};
};

}  // namespace adverb::inline ADVERB_ABI::async
