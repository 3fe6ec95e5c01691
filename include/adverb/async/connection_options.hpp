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
  /// destroys the queue pair, and steps in progress fail with what ended the connection, or with
  /// ECONNRESET. If the peer has not confirmed the end by then, `disconnect` fails with ETIMEDOUT.
  /// Linux sends a lost message of the connection manager again after 4.3 seconds.
  timeout end_timeout = detail::seconds{10};
  /// The time without a heartbeat of the peer after which the connection ends with ETIMEDOUT, at
  /// least 20 milliseconds. The loops of both sides write four heartbeats in this time, so the end
  /// may be late by a quarter. The peer is an `async::connection`, too: the accepting side answers
  /// a connecting side that has set this, and an accepting side that has set it needs a connecting
  /// side that has. Fails with EPROTO otherwise. A loop that computes for so long, or a request
  /// that takes so long, looks dead. Takes the last 32 bytes of the private data: the program has
  /// 24 in a request and 164 in an acceptance. Only with librdmacm.
  timeout dead_after = timeout::endless();
  /// The parameters for the peer. `max_initiator_read_atomic` limits the reads and atomics in
  /// progress on this side, and `max_destination_read_atomic` those of the peer.
  cm::connection_parameters connection{};
};

}  // namespace adverb::inline ADVERB_ABI::async
