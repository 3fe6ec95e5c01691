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
///          6     2  flags: 1 if the end may be silent while it lives, 2 if it resumes a broken
///          link,
///                   4 if this link resumes a session, 8 if the end has the `close` of the peer,
///                   16 in an answer: the session has ended, and both ends had received everything
///          8     4  receives
///         12     4  size of a receive in bytes
///         16     4  size of the longest message in bytes
///         20     4  time without a frame until the peer is dead, in milliseconds; 0: endless
///         24     8  number of the session; 0 in an answer: the session is unknown
///         32     4  number of the next message that the end expects; of a first link, the receives
///                   that it grants at the start, or 0 for all
///         36     4  number of ends of the peer's offers that it has received
///         40     4  time in milliseconds to resume a broken link; of a link that resumes a
///                   session, the receives that the end grants now
///
/// Bytes 24 to 31 and 36 to 43 are 0 without flag 2.
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
  /// The receives that the end grants at the start; 0: all.
  std::uint32_t granted_at_start = 0;
  /// The end resumes a broken link.
  bool resumes = false;
  /// This link resumes a session.
  bool is_resumption = false;
  /// The session of the request has ended in order.
  bool has_finished = false;
  std::uint64_t session = 0;
  /// In milliseconds.
  std::uint32_t resume_within = 0;
  /// The state of the end when the link broke.
  session_point point{};

  /// Fails with EINVAL if an option is out of its range.
  [[nodiscard]] static handshake of(const messages::channel_options& options, on_failure policy);
  [[nodiscard]] cm::private_data encode() const;
  /// Returns none if the private data is no handshake, or has values out of their ranges.
  [[nodiscard]] static std::optional<handshake> decode(const cm::private_data& data) noexcept;
  /// Returns true if both have a version in common.
  [[nodiscard]] bool agrees_with(const handshake& other) const noexcept {
    return lowest_version <= other.highest_version && other.lowest_version <= highest_version;
  }
  /// Returns true if a broken link is resumed: both ends have set that.
  [[nodiscard]] bool resumes_with(const handshake& of_peer) const noexcept {
    return resumes && of_peer.resumes && session == of_peer.session;
  }
  /// Returns true if the peer resumes the session of this end, and has not changed its sizes.
  [[nodiscard]] bool continues(const handshake& first_of_peer,
                               const handshake& of_peer) const noexcept {
    return of_peer.is_resumption && of_peer.session == session &&
           of_peer.receives == first_of_peer.receives &&
           of_peer.block_size == first_of_peer.block_size &&
           of_peer.longest == first_of_peer.longest;
  }
  /// Returns this end's part for a link that resumes the session.
  [[nodiscard]] handshake resumed_at(const session_point& at) const noexcept;
  /// Returns the answer to the request for a session that is unknown.
  [[nodiscard]] handshake of_unknown_session() const noexcept;
  /// Returns the answer to the request for a session that has ended in order.
  [[nodiscard]] handshake of_finished_session(std::uint64_t finished) const noexcept;
  /// Returns a number for a session, which cannot be guessed. Wraps: getrandom(2).
  [[nodiscard]] static std::uint64_t new_session(on_failure policy) noexcept;
  /// Returns the limits that hold for this end.
  [[nodiscard]] session_limits limits_with(const handshake& of_peer) const noexcept;
  /// Returns the time to resume a broken link.
  [[nodiscard]] timeout resume_within_with(const handshake& of_peer) const noexcept;
  /// Returns the time after which a silent peer is dead.
  [[nodiscard]] timeout dead_after_with(const handshake& of_peer) const noexcept;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/handshake.ipp>
#endif
