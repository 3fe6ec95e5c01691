// SPDX-License-Identifier: MIT
// Frames: what the two ends of a channel exchange. docs/wire.md describes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The types of frames.
enum class message_frame_type : std::uint8_t {
  /// A message of `length` bytes, which follow.
  data = 1,
  /// A message of `length` bytes, which the receiver takes or refuses.
  offer,
  /// The receiver takes an offer. The remote handle of its memory follows.
  take,
  /// The sender of an offer has written it.
  taken,
  /// The receiver refuses an offer, or its sender withdraws it (`message_frame::withdrawn`).
  refused,
  /// New grants, and the number of messages received.
  credit,
  /// A credit frame that the peer must answer.
  probe,
  /// No message follows.
  close,
  /// The peer has violated the protocol: `length` is the reason. 0: this side ends the channel.
  failed,
};

/// The header of a frame: 16 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     1  type
///          1     1  flags
///          2     1  lane; of a credit frame, the credits that it returns
///          3     1  number of credit and probe frames received, modulo 256
///          4     4  length
///          8     4  sequence
///         12     4  granted: number of receives posted, cumulative
struct message_frame {
  static constexpr std::size_t header_size = 16;
  /// A flag of `refused`: the sender of the offer withdraws it.
  static constexpr std::uint8_t withdrawn = 1;
  /// A flag of `offer`: the offer had arrived before the link broke, and is not answered.
  static constexpr std::uint8_t again = 8;
  /// A flag of `data` and `offer`: a tag of 8 bytes follows the header.
  static constexpr std::uint8_t tagged = 4;
  static constexpr std::size_t tag_size = 8;
  /// A flag of `credit`: the frame confirms the last credit frame of the peer, and is not counted.
  static constexpr std::uint8_t confirms = 2;

  message_frame_type type = message_frame_type::data;
  std::uint8_t flags = 0;
  std::uint8_t lane = 0;
  std::uint8_t credit_frames = 0;
  /// The size of the message; the number of messages received in `close`; in `credit` and `probe`
  /// of a channel that resumes, the number of ends of offers received; 0 otherwise.
  std::uint32_t length = 0;
  /// The number of the message, from 0; the number of messages received in `credit` and `probe`,
  /// and of messages sent in `close`.
  std::uint32_t sequence = 0;
  std::uint32_t granted = 0;

  /// Returns true if the frame only carries counts. All others spend a credit.
  [[nodiscard]] bool is_credit() const noexcept {
    return type == message_frame_type::credit || type == message_frame_type::probe;
  }

  /// Returns the size of the header and the tag.
  [[nodiscard]] std::size_t front_size() const noexcept {
    return header_size + ((flags & tagged) != 0 ? tag_size : 0);
  }

  /// Returns the header.
  [[nodiscard]] std::array<std::byte, header_size> encode() const noexcept {
    std::array<std::byte, header_size> bytes{static_cast<std::byte>(type), std::byte{flags},
                                             std::byte{lane}, std::byte{credit_frames}};
    store_little_endian<4, std::uint32_t>(bytes, length);
    store_little_endian<8, std::uint32_t>(bytes, sequence);
    store_little_endian<12, std::uint32_t>(bytes, granted);
    return bytes;
  }
  /// Reads a header. Its type may be none of `message_frame_type`.
  [[nodiscard]] static message_frame decode(
      std::span<const std::byte, header_size> bytes) noexcept {
    return {.type = static_cast<message_frame_type>(bytes[0]),
            .flags = std::to_integer<std::uint8_t>(bytes[1]),
            .lane = std::to_integer<std::uint8_t>(bytes[2]),
            .credit_frames = std::to_integer<std::uint8_t>(bytes[3]),
            .length = load_little_endian<4, std::uint32_t>(bytes),
            .sequence = load_little_endian<8, std::uint32_t>(bytes),
            .granted = load_little_endian<12, std::uint32_t>(bytes)};
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
