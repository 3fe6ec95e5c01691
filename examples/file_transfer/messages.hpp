// SPDX-License-Identifier: MIT
// The messages between sender and receiver.
//
// The sender connects with a `greeting`, and is accepted with a `welcome`, or rejected with a
// reason. Then each file is an exchange:
//
//     sender                          receiver
//     announcement (name, size)  ->
//                                <-   go_ahead
//     data, data, …              ->
//                                <-   credit, credit, …
//     checksum                   ->
//                                <-   stored
//
// Either side may send `failure` instead, with a reason; a side that receives one, or has nothing
// left to send, ends the connection. The receiver posts its receives ahead, and its `welcome`
// carries their number; a `credit` announces that it has posted so many again. A message is only
// sent if a receive is posted for it: otherwise soft-iWARP ends the connection, and other devices
// waste time with retries. For the same reason these are plain sends, and not writes: iWARP has no
// writes with immediate data, and so no key to its memory leaves the receiver.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <string.h>

namespace file_transfer {

/// The size of one data message, in bytes.
inline constexpr std::uint32_t data_size = 256 * 1024;
/// The largest number of messages of the sender that are in flight.
inline constexpr std::uint32_t data_blocks = 16;
/// The number of blocks that one credit returns.
inline constexpr std::uint32_t credit_batch = data_blocks / 4;
/// The size of the receiver's messages. At most four credits are unread at a time, and one answer
/// follows.
inline constexpr std::uint32_t answer_size = 1024;
inline constexpr std::uint32_t answer_blocks = 16;

enum class message_kind : std::uint32_t {
  announcement = 1,
  go_ahead,
  data,
  credit,
  checksum,
  stored,
  failure,
};

/// Precedes each message.
struct message_header {
  message_kind kind;
  std::uint32_t length;
};

/// The protocol of a side. A greeting of another protocol or version, or from a machine of other
/// byte order, is not equal.
struct greeting {
  std::uint64_t protocol = 0x7265'6673'6e61'7274;
  std::uint32_t version = 1;
  std::uint32_t data_size = file_transfer::data_size;

  friend bool operator==(const greeting&, const greeting&) = default;
};
struct welcome {
  greeting same;
  std::uint32_t credits;
};

/// Returns a peer's text without control characters, which could be commands to a terminal.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result{text};
  std::replace_if(
      result.begin(), result.end(),
      [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
  return result;
}

/// Text of a limited length. Longer text is cut off.
template <std::size_t Size>
struct text_field {
  std::array<char, Size> characters{};

  text_field() = default;
  explicit text_field(std::string_view text) noexcept { text.copy(characters.data(), Size); }
  [[nodiscard]] std::string_view view() const noexcept {
    return {characters.data(), ::strnlen(characters.data(), Size)};
  }
};
/// The content of messages that consist of their kind alone.
struct no_content {};
/// The reason of a failure; longer than the longest name.
using last_words = text_field<512>;

struct announcement {
  std::uint64_t size;
  /// The number of the file, and the number of all files.
  std::uint32_t number;
  std::uint32_t count;
  text_field<256> name;
};
struct credit {
  std::uint32_t blocks;
};

/// A message as it arrived.
struct message {
  std::size_t block;
  message_kind kind;
  std::span<const std::byte> content;

  /// Throws if it is not a `T`.
  template <class T>
  [[nodiscard]] T as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (content.size() != sizeof(T)) throw std::runtime_error{"the peer sent a malformed message"};
    T result{};
    std::memcpy(static_cast<void*>(&result), content.data(), sizeof result);
    return result;
  }
};

}  // namespace file_transfer
