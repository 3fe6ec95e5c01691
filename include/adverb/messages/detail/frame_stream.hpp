// SPDX-License-Identifier: MIT
// Cuts a stream of bytes into frames, without I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <adverb/messages/detail/message_frame.hpp>
#include <adverb/messages/detail/message_session.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Finds the frames in the bytes of a stream. Each goes into a block of the owner, and the message
/// behind `taken` into the memory that its receiver has opened. The bytes of
/// TCP have no other bounds.
class frame_stream {
 public:
  enum class outcome : std::uint8_t {
    /// All bytes are used, and more are needed.
    more,
    /// A frame is whole: `frame` returns it. Call `next_frame` before the next bytes.
    frame,
    /// A message follows: call `land` with memory for it before the next bytes.
    landing,
    /// The frame is longer than a block.
    too_long,
  };

  /// Begins a frame in a block.
  void next_frame(std::span<std::byte> block) noexcept {
    block_ = block;
    filled_ = 0;
    size_ = message_frame::header_size;
    has_header_ = false;
  }
  /// Returns the frame that is whole.
  [[nodiscard]] std::span<const std::byte> frame() const noexcept { return block_.first(filled_); }
  /// Returns the header of the frame, which must have arrived.
  [[nodiscard]] message_frame header() const noexcept {
    return message_frame::decode(block_.first<message_frame::header_size>());
  }
  /// The message goes there. It must have the length in the header.
  void land(std::span<std::byte> memory) noexcept { landing_ = memory; }
  /// Returns the memory that the next bytes of the stream fill: empty unless it is that of a
  /// message. Call `landed` after filling it.
  [[nodiscard]] std::span<std::byte> landing() const noexcept { return landing_; }
  /// The first bytes of `landing` are filled. Returns true if all are, and the frame is whole.
  [[nodiscard]] bool landed(std::size_t bytes) noexcept {
    landing_ = landing_.subspan(bytes);
    return landing_.empty();
  }

  /// Takes bytes from the front of `bytes`, up to the next outcome.
  [[nodiscard]] outcome take(std::span<const std::byte>& bytes) noexcept {
    if (!landing_.empty()) {
      const std::size_t count = copy(landing_, bytes);
      return landed(count) ? outcome::frame : outcome::more;
    }
    while (true) {
      filled_ += copy(block_.subspan(filled_, size_ - filled_), bytes);
      if (filled_ < size_) return outcome::more;
      if (has_header_) return outcome::frame;
      has_header_ = true;
      const message_frame header = this->header();
      const std::size_t size = size_of(header);
      if (size > block_.size()) return outcome::too_long;
      size_ = size;
      if (header.type == message_frame_type::taken && header.length != 0) return outcome::landing;
    }
  }

 private:
  /// Returns the size of a frame in its block. It does not overflow.
  [[nodiscard]] static std::size_t size_of(const message_frame& header) noexcept {
    switch (header.type) {
      case message_frame_type::data: return header.front_size() + std::size_t{header.length};
      case message_frame_type::offer: return header.front_size();
      case message_frame_type::take: return message_frame::header_size + message_session::take_size;
      default: return message_frame::header_size;
    }
  }
  /// Moves as many bytes as fit from the front of `bytes`. Returns their number.
  static std::size_t copy(std::span<std::byte> to, std::span<const std::byte>& bytes) noexcept {
    const std::size_t count = std::min(to.size(), bytes.size());
    if (count != 0) std::memcpy(to.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    return count;
  }

  std::span<std::byte> block_;
  std::size_t filled_ = 0;
  /// The size of the frame, as far as it is known.
  std::size_t size_ = 0;
  bool has_header_ = false;
  std::span<std::byte> landing_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
