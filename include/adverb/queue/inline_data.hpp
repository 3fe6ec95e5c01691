// SPDX-License-Identifier: MIT
// Inline data: bytes that are copied when a request is posted.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/fwd.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// An object whose bytes can be sent, not one that only refers to them.
template <class T>
concept inline_object = (std::is_class_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>) &&
                        !std::convertible_to<const T&, std::span<const std::byte>> &&
                        !requires(const T& object) { std::data(object); };

/// Rejects at compile time a type whose bytes are probably not the data to send.
template <class T>
constexpr void check_inline() noexcept {
  static_assert(std::is_trivially_copyable_v<T>,
                "the device copies bytes: inline data is of trivially copyable types");
  static_assert(!std::convertible_to<const T&, const_buffer>,
                "a buffer is sent as it is: only what is not registered has to be inline");
  static_assert(!std::same_as<T, inline_data>,
                "a list of inline data is sent as it is: send(std::span{list})");
  static_assert(
      !requires(const T& object) { object.encode(); },
      "this type is sent in its wire format: inline_data{object.encode()}");
}

/// `length` holds the size of inline data. For sizes of 16 MiB and more, which no device accepts,
/// `lkey`, which inline data does not use, holds the rest, and `length` is between 16 and 32 MiB:
/// the provider refuses the request as too large. 63 such pieces add up to a positive number of 32
/// bits, in which providers add.
inline constexpr unsigned inline_length_bits = 24;
[[nodiscard]] constexpr ibv_sge inline_element(std::uint64_t address, std::size_t size) noexcept {
  constexpr std::uint32_t beyond_every_device = 1U << inline_length_bits;
  const auto low = static_cast<std::uint32_t>(size) & (beyond_every_device - 1);
  const auto high =
      static_cast<std::uint32_t>(static_cast<std::uint64_t>(size) >> inline_length_bits);
  return {address, high == 0 ? low : low | beyond_every_device, high};
}
[[nodiscard]] constexpr std::size_t inline_size(const ibv_sge& element) noexcept {
  constexpr std::uint32_t low = (1U << inline_length_bits) - 1;
  return static_cast<std::size_t>(std::uint64_t{element.lkey} << inline_length_bits |
                                  (element.length & low));
}
[[nodiscard]] inline void* inline_memory(const ibv_sge& element) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(element.addr));
}

}  // namespace detail

/// Bytes that the post copies into the work request. They need no registered memory and may be
/// reused after the post. All pieces of a request together have at most `max_inline_data` bytes of
/// the queue pair. Refers to the bytes, which must live until the post.
class inline_data {
 public:
  explicit inline_data(std::span<const std::byte> bytes) noexcept
      : inline_data{bytes.data(), bytes.size()} {}
  /// Refers to the elements of a span, or of a container or array that is not a temporary. A string
  /// literal is an array, whose terminating zero is sent, too.
  template <registrable_memory Range>
  explicit inline_data(Range&& elements) noexcept
      : inline_data{std::data(elements), std::size(elements) * sizeof(*std::data(elements))} {
    detail::check_inline<std::remove_cvref_t<decltype(*std::data(elements))>>();
  }
  /// Refers to the bytes of one object, padding included.
  template <detail::inline_object T>
  explicit inline_data(const T& object) noexcept
      : inline_data{&reinterpret_cast<const std::byte&>(object), sizeof(T)} {
    detail::check_inline<T>();
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(detail::inline_memory(element_)),
            detail::inline_size(element_)};
  }
  /// Returns the C struct.
  [[nodiscard]] constexpr const ibv_sge& native() const noexcept { return element_; }

 private:
  inline_data(const void* begin, std::size_t size) noexcept
      : element_{detail::inline_element(reinterpret_cast<std::uintptr_t>(begin), size)} {}

  ibv_sge element_;
};

namespace detail {

static_assert(is_element<inline_data>);

/// True if an array of ibv_sge, filled as inline data, is also an array of ibv_data_buf: `length`
/// and `lkey`, read as one 64-bit number, are the size if it is below those that every device
/// refuses.
inline constexpr bool elements_are_data_buffers =
    std::endian::native == std::endian::little && sizeof(ibv_data_buf) == sizeof(ibv_sge) &&
    alignof(ibv_data_buf) <= alignof(ibv_sge) &&
    offsetof(ibv_data_buf, addr) == offsetof(ibv_sge, addr) &&
    offsetof(ibv_data_buf, length) == offsetof(ibv_sge, length) &&
    sizeof(ibv_data_buf::addr) == sizeof(ibv_sge::addr) &&
    sizeof(ibv_data_buf::length) == sizeof(ibv_sge::length) + sizeof(ibv_sge::lkey);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
