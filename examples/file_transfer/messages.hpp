// SPDX-License-Identifier: MIT
// What sender and receiver tell each other.
//
// The sender connects with a `greeting`, and is accepted with a `welcome`, or rejected in
// words. Then each file is a conversation:
//
//     sender                          receiver
//     announcement (name, size)  ->
//                                <-   go_ahead
//     data, data, …              ->
//                                <-   credit, credit, …
//     checksum                   ->
//                                <-   stored
//
// Either of them may say `failure` instead, in words; who hears that, or has nothing left to send,
// ends the connection. The receiver posts its receives ahead, and tells in its welcome how many
// there are; with a `credit` it tells that it has posted so many again. Nothing is ever sent that
// no receive waits for: soft-iWARP ends a connection then, and other devices waste time with
// retries. For the same reason these are plain sends, and not writes: iWARP has no writes with
// immediate data, and so no key to its memory leaves the receiver.
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

/// Of one data message, in bytes.
inline constexpr std::uint32_t data_size = 256 * 1024;
/// How many messages of the sender can be on their way.
inline constexpr std::uint32_t data_blocks = 16;
/// How many blocks the receiver gives back at a time.
inline constexpr std::uint32_t credit_batch = data_blocks / 4;
/// Those of the receiver. Credits that were not looked at are at most four, and one answer follows.
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

/// Who speaks, and how. Other than these, and on a machine of other byte order, they are not equal.
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

/// As a peer's words and names are to be shown: it could send what commands a terminal.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result{text};
  std::replace_if(
      result.begin(), result.end(),
      [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
  return result;
}

/// Text of a limited length. What is too long is cut off.
template <std::size_t Size>
struct text_field {
  std::array<char, Size> characters{};

  text_field() = default;
  explicit text_field(std::string_view text) noexcept { text.copy(characters.data(), Size); }
  [[nodiscard]] std::string_view view() const noexcept {
    return {characters.data(), ::strnlen(characters.data(), Size)};
  }
};
/// Of messages whose kind says everything.
struct no_content {};
/// Why a side gives up; longer than the longest name.
using last_words = text_field<512>;

struct announcement {
  std::uint64_t size;
  /// Which file it is, of how many.
  std::uint32_t number;
  std::uint32_t count;
  text_field<256> name;
};
struct credit {
  std::uint32_t blocks;
};

/// A message as it came.
struct message {
  std::size_t block;
  message_kind kind;
  std::span<const std::byte> content;

  /// Throws when it is not a `T`.
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
