// SPDX-License-Identifier: MIT
// The options of a stream.
#pragma once

#include <cstdint>

#include <adverb/async/connection_options.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options of a stream of bytes. Each side has its own.
struct stream_options {
  /// Size in bytes of the memory from which data is written, at least 1. `remote_stream::write`
  /// copies into it.
  std::uint32_t send_buffer = 128 * 1024;
  /// Size in bytes of the memory to which the peer writes: a multiple of 2, less than 2^30. The
  /// peer fills one half while the other is read.
  std::uint32_t receive_buffer = 128 * 1024;
  /// Maximum number of requests in progress, at least 16. 4 of them are kept for messages that are
  /// not data.
  std::uint32_t max_send_wr = 384;
  /// Number of receives that are posted for data, 8 to 65,534: the peer has as many credits.
  std::uint32_t receives = 384;
  /// Data up to this size in bytes is sent inline. At least 32: other messages are, too.
  std::uint32_t max_inline_data = 64;
  /// See `async::connection_options::connect_timeout`.
  timeout connect_timeout = detail::seconds{10};
  /// See `async::connection_options::end_timeout`. Also the time in which `remote_stream::close`
  /// delivers what was written.
  timeout end_timeout = detail::seconds{10};
};

}  // namespace adverb::inline ADVERB_ABI
