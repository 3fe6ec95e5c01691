// SPDX-License-Identifier: MIT
// The messages between sender and receiver. Each begins with its kind. The sender sends a greeting;
// then each file is an exchange:
//
//     sender                          receiver
//     announcement (name, size)  ->
//                                <-   go_ahead
//     data, data, …              ->
//     checksum                   ->
//                                <-   stored
//
// Either side may send `failure` instead, with a reason, and closes the channel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <string.h>

#include <adverb/messages.hpp>

namespace file_transfer {

/// The size of one data message, in bytes.
inline constexpr std::uint32_t data_size = 256 * 1024;

enum class message_kind : std::uint32_t {
  greeting = 1,
  announcement,
  go_ahead,
  data,
  checksum,
  stored,
  failure,
};

/// The protocol of a side. A greeting of another protocol or version, or from a machine of other
/// byte order, is not equal.
struct greeting {
  std::uint64_t protocol = 0x7265'6673'6e61'7274;
  std::uint32_t version = 2;
  std::uint32_t data_size = file_transfer::data_size;

  friend bool operator==(const greeting&, const greeting&) = default;
};

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
/// The reason of a failure; longer than the longest name.
using last_words = text_field<512>;

struct announcement {
  std::uint64_t size;
  /// The number of the file, and the number of all files.
  std::uint32_t number;
  std::uint32_t count;
  text_field<256> name;
};

[[nodiscard]] inline std::size_t content_size(const adverb::messages::incoming& message) noexcept {
  return message.bytes().size() - sizeof(message_kind);
}
/// Returns what follows the kind of a message. Throws if it is not a `T`.
template <class T>
[[nodiscard]] T content_of(const adverb::messages::incoming& message) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (content_size(message) != sizeof(T))
    throw std::runtime_error{"the peer sent a malformed message"};
  T result{};
  std::memcpy(static_cast<void*>(&result), message.bytes().data() + sizeof(message_kind),
              sizeof result);
  return result;
}

}  // namespace file_transfer
