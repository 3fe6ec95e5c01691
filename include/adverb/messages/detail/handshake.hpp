// SPDX-License-Identifier: MIT
// The private data with which the two ends of a channel agree on its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/error.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/message_session.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// One end's part of the handshake: 44 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     4  mark
///          4     1  lowest version
///          5     1  highest version
///          6     2  flags: 1 if the end may be silent while it lives
///          8     4  receives
///         12     4  size of a receive in bytes
///         16     4  size of the longest message in bytes
///         20     4  time without a frame until the peer is dead, in milliseconds; 0: endless
///         24    20  0
struct handshake {
  static constexpr std::size_t encoded_size = 44;
  static constexpr std::uint8_t version = 1;
  static constexpr std::uint32_t least_block_size = 64;
  static constexpr std::uint32_t most_receives = 1U << 16U;

  std::uint8_t lowest_version = version;
  std::uint8_t highest_version = version;
  bool is_blocking = false;
  std::uint32_t receives = 0;
  std::uint32_t block_size = 0;
  std::uint32_t longest = 0;
  std::uint32_t dead_after = 0;

  /// Fails with EINVAL if an option is out of its range.
  [[nodiscard]] static handshake of(const messages::channel_options& options, on_failure policy);
  [[nodiscard]] cm::private_data encode() const;
  /// Returns none if the private data is no handshake, or has values out of their ranges.
  [[nodiscard]] static std::optional<handshake> decode(const cm::private_data& data) noexcept;
  /// Returns true if both have a version in common.
  [[nodiscard]] bool agrees_with(const handshake& other) const noexcept {
    return lowest_version <= other.highest_version && other.lowest_version <= highest_version;
  }
  /// Returns the limits that hold for this end.
  [[nodiscard]] session_limits limits_with(const handshake& of_peer) const noexcept;
  /// Returns the time after which a silent peer is dead.
  [[nodiscard]] timeout dead_after_with(const handshake& of_peer) const noexcept;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/handshake.ipp>
#endif
