// SPDX-License-Identifier: MIT
// Private data: the bytes sent with a connection request, its acceptance or its rejection.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The maximum private data, in bytes, of a connection request, an acceptance and a rejection over
/// InfiniBand and RoCE. iWARP carries 255.
inline constexpr std::size_t max_request_data = 56;
/// The maximum private data of an acceptance, in bytes.
inline constexpr std::size_t max_accept_data = 196;
/// The maximum private data of a rejection, in bytes.
inline constexpr std::size_t max_reject_data = 148;
/// The same limits for datagrams: in a request, and in its acceptance or rejection.
inline constexpr std::size_t max_datagram_request_data = 180;
/// The maximum private data of an acceptance or rejection of datagrams, in bytes.
inline constexpr std::size_t max_datagram_accept_data = 136;

/// Private data, to send or as received. Bytes convert to it. A value is sent with its length in
/// front, because InfiniBand and RoCE deliver the maximum size, padded with zeros (iWARP delivers
/// the bytes that were sent):
///
///     ready.connect({.private_data = cm::private_data::of(greeting)});
///     …
///     if (auto hello = request.private_data().as<my_greeting>()) …
///
/// Text is sent in the same way, for example the reason for a rejection:
///
///     request.reject(cm::private_data::of("too many clients"));
///     …
///     if (const auto why = ready.rejection()->private_data.text()) log(*why);
///
/// Format: two bytes with the size of the rest, little-endian, followed by the payload. The payload
/// is the characters, or the result of the value's own `encode` (an endpoint, a remote_buffer), or
/// the value's bytes as they are in memory. The last form requires the same layout on both sides.
class private_data {
 public:
  /// The maximum that the C API carries. Sending more fails.
  static constexpr std::size_t capacity = 255;

  private_data() noexcept = default;
  /// Copies bytes to send.
  private_data(std::span<const std::byte> bytes) noexcept;

  /// Encodes text, without a terminating zero.
  [[nodiscard]] static private_data of(std::string_view words) noexcept {
    return with_length(words.data(), words.size());
  }
  template <class T>
    requires(!std::convertible_to<const T&, std::string_view>)
  [[nodiscard]] static private_data of(const T& value) noexcept {
    check_type<T>();
    if constexpr (has_wire_format<T>) {
      const auto encoded = value.encode();
      return with_length(encoded.data(), encoded.size());
    } else {
      return with_length(&value, sizeof value);
    }
  }

  /// Returns the bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept ADVERB_LIFETIME_BOUND {
    return {bytes_.data(), size_ < capacity ? size_ : capacity};
  }
  /// Returns the number of bytes it was created from, even if they exceed the capacity.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns the value encoded by `of`. Returns nothing if the size differs, if there is no value,
  /// or if the type's own `decode` rejects it: a remote_buffer without the access that its type
  /// requires.
  template <class T>
  [[nodiscard]] std::optional<T> as() const noexcept {
    check_type<T>();
    if constexpr (has_wire_format<T>) {
      if (length() != T::encoded_size) return std::nullopt;
      std::error_code refused;
      const T value = T::decode(
          std::span<const std::byte, T::encoded_size>{bytes_.data() + length_size, T::encoded_size},
          refused);
      return refused ? std::nullopt : std::optional{value};
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      // Any other type confuses GCC 11, which then omits the text of the static_assert.
      if (length() != sizeof(T)) return std::nullopt;
      std::array<std::byte, sizeof(T)> copy{};
      std::memcpy(copy.data(), bytes_.data() + length_size, sizeof(T));
      return std::bit_cast<T>(copy);
    } else {
      return std::nullopt;
    }
  }

  /// Returns the text encoded by `of`, whatever its characters. Returns nothing if there is no text
  /// or it is empty: over InfiniBand and RoCE, no data arrives as zeros. The view refers to this
  /// object.
  [[nodiscard]] std::optional<std::string_view> text() const& noexcept;
  std::optional<std::string_view> text() const&& = delete;

 private:
  static constexpr std::size_t length_size = 2;

  template <class T>
  static constexpr bool has_wire_format = requires(const T& value, std::error_code& refused) {
    value.encode();
    T::decode(std::span<const std::byte, T::encoded_size>{value.encode()}, refused);
  };

  /// Encodes these bytes behind their length, up to the capacity.
  [[nodiscard]] static private_data with_length(const void* bytes, std::size_t size) noexcept;

  /// Returns the length that `of` put in front, or nothing if the data is incomplete.
  [[nodiscard]] std::optional<std::size_t> length() const noexcept;

  /// True for types that only refer to other data, as far as the type shows it. Arrays are
  /// aggregates.
  template <class T>
  static constexpr bool refers =
      std::is_pointer_v<T> || std::is_member_pointer_v<T> ||
      (!std::is_aggregate_v<T> && requires(const T& value) { value.data(); });

  template <class T>
  static constexpr void check_type() noexcept {
    static_assert(std::is_trivially_copyable_v<T>,
                  "private data is copied byte by byte: the type has to be trivially copyable");
    static_assert(!refers<T>,
                  "private data cannot hold a pointer, a span or a view: pass the value, or its "
                  "bytes: private_data{bytes}");
    static_assert(sizeof(T) + length_size <= max_accept_data,
                  "private data is at most 56 bytes in a request and 196 in an acceptance, two of "
                  "which are the length");
  }

  std::array<std::byte, capacity> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/private_data.ipp>
#endif
