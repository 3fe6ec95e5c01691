// SPDX-License-Identifier: MIT
// Inline data: bytes that are copied when a request is posted.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/fwd.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/detail/known_regions.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// An object whose bytes can be sent, not one that only refers to them.
template <class T>
concept inline_object = (std::is_class_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>) &&
                        !std::convertible_to<const T&, std::span<const std::byte>> &&
                        !requires(const T& object) { std::data(object); };

/// True for what inline data can refer to.
template <class T>
concept inline_source = registrable_memory<T> || inline_object<std::remove_cvref_t<T>> ||
                        std::convertible_to<T, std::span<const std::byte>> ||
                        std::same_as<std::remove_cvref_t<T>, inline_data>;

/// Rejects at compile time a type whose bytes are probably not the data to send.
template <class T>
consteval void check_inline() noexcept {
  static_assert(std::is_trivially_copyable_v<T>, "inline data holds only trivially copyable types");
  static_assert(!std::convertible_to<const T&, const_buffer>,
                "inline_data is for unregistered memory: pass a buffer to the request directly");
  static_assert(!std::same_as<T, inline_data>,
                "inline_data cannot hold a list of inline data: send(std::span{list})");
  static_assert(
      !requires(const T& object) { object.encode(); },
      "this type must be sent in its wire format: inline_data{object.encode()}");
}

/// `length` holds the size of inline data. For sizes of 16 MiB and more, which no device accepts,
/// `lkey`, which inline data does not use, holds the rest, and `length` is between 16 and 32 MiB:
/// the provider refuses the request as too large. 63 such pieces add up to a positive number of 32
/// bits, in which providers add.
inline constexpr unsigned inline_length_bits = 24;
[[nodiscard]] constexpr ibv_sge inline_element(std::uint64_t address, std::size_t size) noexcept {
  constexpr std::uint32_t beyond_every_device = 1U << inline_length_bits;
  const auto low = static_cast<std::uint32_t>(size) & (beyond_every_device - 1);
  const auto high = static_cast<std::uint32_t>(size >> inline_length_bits);
  return {address, high == 0 ? low : low | beyond_every_device, high};
}
[[nodiscard]] constexpr std::size_t inline_size(const ibv_sge& element) noexcept {
  constexpr std::uint32_t low = (1U << inline_length_bits) - 1;
  return std::size_t{element.lkey} << inline_length_bits | (element.length & low);
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
  /// Rejected at compile time: explains what inline data refers to.
  template <class T>
    requires(!detail::inline_source<T>)
  explicit inline_data(T&&) noexcept : element_{} {
    // A constant, because GCC lists the constraints of a concept that is asserted.
    constexpr bool stays = detail::inline_source<T>;
    static_assert(stays,
                  "inline_data refers to bytes that live until the post: pass an object, a "
                  "container or array that is not a temporary, or a std::span");
  }

  /// Returns the bytes.
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

// `lower` copies the elements of a request into `memory`, from which the device reads them.
// `memory` is uninitialised before. The copy goes member by member: a struct that is copied as a
// whole must be in memory before.

struct no_memory {};

/// Elements that the request itself holds.
template <std::size_t Count>
struct held_elements {
  static constexpr unsigned send_flags = 0;
  std::array<ibv_sge, Count> elements;

  using memory = std::array<ibv_sge, Count>;
  /// Returns the first element of the copy.
  [[nodiscard]] ibv_sge* lower(memory& copy) const noexcept {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((copy[Index].addr = elements[Index].addr, copy[Index].length = elements[Index].length,
        copy[Index].lkey = elements[Index].lkey),
       ...);
    }(std::make_index_sequence<Count>{});
    return copy.data();
  }
  [[nodiscard]] static constexpr int count() noexcept { return static_cast<int>(Count); }
  /// Sets the elements in the extended sender. Wraps: ibv_wr_set_sge(3), ibv_wr_set_sge_list(3).
  void build(ibv_qp_ex* sender) const noexcept {
    if constexpr (hardened(ADVERB_HARDENING_DEBUG))
      require_regions(sender->qp_base.pd, "ibv_wr_set_sge", elements.data(), Count);
    if constexpr (Count == 1)
      ibv_wr_set_sge(sender, elements[0].lkey, elements[0].addr, elements[0].length);
    else
      ibv_wr_set_sge_list(sender, Count, elements.data());
  }
};

template <>
struct held_elements<0> {
  static constexpr unsigned send_flags = 0;

  using memory = no_memory;
  [[nodiscard]] static constexpr ibv_sge* lower(memory&) noexcept { return nullptr; }
  [[nodiscard]] static constexpr int count() noexcept { return 0; }
  static void build(ibv_qp_ex* sender) noexcept { ibv_wr_set_sge_list(sender, 0, nullptr); }
};

/// The payload of an operation without one.
struct no_payload {
  static constexpr unsigned send_flags = 0;

  using memory = no_memory;
  [[nodiscard]] static constexpr ibv_sge* lower(memory&) noexcept { return nullptr; }
  [[nodiscard]] static constexpr int count() noexcept { return 0; }
  static constexpr void build(ibv_qp_ex*) noexcept {}
};

/// Elements in a list of the caller.
template <class Buffer>
struct listed_elements {
  static constexpr unsigned send_flags = 0;
  std::span<const Buffer> buffers;

  using memory = no_memory;
  [[nodiscard]] ibv_sge* lower(memory&) const noexcept { return first(); }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(buffers.size()); }
  void build(ibv_qp_ex* sender) const noexcept {
    if constexpr (hardened(ADVERB_HARDENING_DEBUG))
      require_regions(sender->qp_base.pd, "ibv_wr_set_sge_list", first(), buffers.size());
    ibv_wr_set_sge_list(sender, buffers.size(), first());
  }

 private:
  [[nodiscard]] ibv_sge* first() const noexcept { return native_elements(buffers.data()); }
};

/// Bytes that the post copies.
template <std::size_t Count>
struct inline_elements {
  static constexpr unsigned send_flags = IBV_SEND_INLINE;
  std::array<ibv_sge, Count> elements;

  using memory = std::array<ibv_sge, Count>;
  /// Copies no keys, since inline data has none.
  [[nodiscard]] ibv_sge* lower(memory& copy) const noexcept {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((copy[Index].addr = elements[Index].addr, copy[Index].length = elements[Index].length), ...);
    }(std::make_index_sequence<Count>{});
    return copy.data();
  }
  [[nodiscard]] static constexpr int count() noexcept { return static_cast<int>(Count); }
  /// Sets the bytes in the extended sender. Wraps: ibv_wr_set_inline_data(3),
  /// ibv_wr_set_inline_data_list(3).
  void build(ibv_qp_ex* sender) const noexcept {
    if constexpr (Count == 1) {
      ibv_wr_set_inline_data(sender, inline_memory(elements[0]), elements[0].length);
    } else {
      std::array<ibv_data_buf, Count> list;
      for (std::size_t index = 0; index < Count; ++index)
        list[index] = {inline_memory(elements[index]), elements[index].length};
      ibv_wr_set_inline_data_list(sender, Count, list.data());
    }
  }
};

/// Bytes that the post copies, in a list of the caller.
struct listed_inline_elements {
  static constexpr unsigned send_flags = IBV_SEND_INLINE;
  std::span<const inline_data> pieces;

  using memory = no_memory;
  [[nodiscard]] ibv_sge* lower(memory&) const noexcept { return first(); }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(pieces.size()); }
  /// Sets the bytes in the extended sender. Wraps: ibv_wr_set_inline_data_list(3).
  template <class Sender>
  void build(Sender* sender) const noexcept {
    static_assert(
        sizeof(Sender) == 0 || elements_are_data_buffers,
        "the extended sender cannot post a list of inline data without a copy on this machine (32 "
        "bits, or big-endian): post it through the queue pair, or pass its pieces one by one");
    ibv_wr_set_inline_data_list(sender, pieces.size(),
                                reinterpret_cast<const ibv_data_buf*>(first()));
  }

 private:
  [[nodiscard]] ibv_sge* first() const noexcept { return native_elements(pieces.data()); }
};

/// True if a payload refers to a list of the caller.
template <class Payload>
inline constexpr bool is_listed = std::same_as<Payload, listed_inline_elements>;
template <class Buffer>
inline constexpr bool is_listed<listed_elements<Buffer>> = true;

template <class... Buffers>
[[nodiscard]] constexpr auto hold(const Buffers&... buffers) noexcept {
  return held_elements<sizeof...(Buffers)>{
      {ibv_sge{buffers.native().addr, buffers.native().length, buffers.native().lkey}...}};
}
[[nodiscard]] constexpr held_elements<0> hold() noexcept { return {}; }

// A list is a span, and not a type that converts to one: a stored request must not refer to a
// temporary container.

/// Returns the payload of a request that sends: buffers or inline data, or one list of either.
template <class... Arguments>
[[nodiscard]] constexpr auto gather(const Arguments&... arguments) noexcept {
  constexpr bool buffers = (std::convertible_to<const Arguments&, const_buffer> && ...);
  static_assert(buffers, "a request sends buffers, inline_data, or one std::span of either");
  if constexpr (buffers)
    return hold(arguments...);
  else
    return no_payload{};
}
template <class Buffer, std::size_t Extent>
  requires std::convertible_to<Buffer&, const_buffer>
[[nodiscard]] constexpr auto gather(std::span<Buffer, Extent> list) noexcept {
  return listed_elements<std::remove_const_t<Buffer>>{list};
}
template <class... Rest>
  requires(std::same_as<Rest, inline_data> && ...)
[[nodiscard]] inline_elements<1 + sizeof...(Rest)> gather(const inline_data& first,
                                                          const Rest&... rest) noexcept {
  return {{first.native(), rest.native()...}};
}
template <class Piece, std::size_t Extent>
  requires std::same_as<std::remove_const_t<Piece>, inline_data>
[[nodiscard]] constexpr listed_inline_elements gather(std::span<Piece, Extent> list) noexcept {
  return {list};
}

/// Returns the payload of a request that fills memory: mutable buffers, or one list of them.
template <class... Arguments>
[[nodiscard]] constexpr auto scatter(const Arguments&... arguments) noexcept {
  constexpr bool buffers = (std::same_as<Arguments, mutable_buffer> && ...);
  static_assert(buffers,
                "data is received into mutable buffers, or into one std::span of them: a "
                "const_buffer is for sending only, and other memory must be registered");
  if constexpr (buffers)
    return hold(arguments...);
  else
    return no_payload{};
}
template <class Buffer, std::size_t Extent>
  requires std::same_as<std::remove_const_t<Buffer>, mutable_buffer>
[[nodiscard]] constexpr auto scatter(std::span<Buffer, Extent> list) noexcept {
  return listed_elements<mutable_buffer>{list};
}

template <class List, class Size>
[[nodiscard]] constexpr std::uint64_t sum_of(const List& list, const Size& size_of) noexcept {
  std::uint64_t sum = 0;
  for (const auto& each : list) sum += size_of(each);
  return sum;
}

// Returns the length of a payload in bytes.
template <std::size_t Count>
[[nodiscard]] constexpr std::uint64_t length_of(const held_elements<Count>& payload) noexcept {
  if constexpr (Count == 0)
    return 0;
  else
    return sum_of(payload.elements, [](const ibv_sge& each) { return each.length; });
}
template <std::size_t Count>
[[nodiscard]] constexpr std::uint64_t length_of(const inline_elements<Count>& payload) noexcept {
  return sum_of(payload.elements, inline_size);
}
template <class Buffer>
[[nodiscard]] constexpr std::uint64_t length_of(const listed_elements<Buffer>& payload) noexcept {
  return sum_of(payload.buffers, [](const Buffer& each) { return each.size(); });
}
[[nodiscard]] inline std::uint64_t length_of(const listed_inline_elements& payload) noexcept {
  return sum_of(payload.pieces, [](const inline_data& each) { return inline_size(each.native()); });
}
[[nodiscard]] constexpr std::uint64_t length_of(const no_payload&) noexcept { return 0; }

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
