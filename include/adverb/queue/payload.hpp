// SPDX-License-Identifier: MIT
// The local memory of a work request: what is gathered from, or scattered into.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/buffer.hpp>

namespace adverb::inline ADVERB_ABI {

/// Bytes that are copied into the work request itself when it is posted: they need no registered
/// memory and may be reused at once. At most `max_inline_data` of the queue pair.
class inline_data {
 public:
  constexpr explicit inline_data(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}
  template <class T, std::size_t Extent>
    requires std::is_trivially_copyable_v<T>
  explicit inline_data(std::span<T, Extent> elements) noexcept : bytes_{std::as_bytes(elements)} {}

  [[nodiscard]] constexpr std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

namespace detail {

// What a request holds is copied (`lower`) for the device to read, into `memory`, which is left
// uninitialised until then. Member by member: a struct that is copied whole has to be in memory
// before.

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
  /// Wraps: ibv_wr_set_sge(3), ibv_wr_set_sge_list(3).
  void build(ibv_qp_ex* sender) const noexcept {
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

/// The payload of an operation that has none.
struct no_payload {
  static constexpr unsigned send_flags = 0;

  using memory = no_memory;
  [[nodiscard]] static constexpr ibv_sge* lower(memory&) noexcept { return nullptr; }
  [[nodiscard]] static constexpr int count() noexcept { return 0; }
  static constexpr void build(ibv_qp_ex*) noexcept {}
};

/// Elements that stay where the caller has them.
template <class Buffer>
struct listed_elements {
  static constexpr unsigned send_flags = 0;
  std::span<const Buffer> buffers;

  using memory = no_memory;
  [[nodiscard]] ibv_sge* lower(memory&) const noexcept { return first(); }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(buffers.size()); }
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_set_sge_list(sender, buffers.size(), first());
  }

 private:
  [[nodiscard]] ibv_sge* first() const noexcept { return native_elements(buffers.data()); }
};

/// Bytes that are copied when the request is posted.
template <std::size_t Count>
struct inline_elements {
  static constexpr unsigned send_flags = IBV_SEND_INLINE;
  std::array<ibv_sge, Count> elements;

  using memory = std::array<ibv_sge, Count>;
  /// Without the keys, which inline data has none of.
  [[nodiscard]] ibv_sge* lower(memory& copy) const noexcept {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((copy[Index].addr = elements[Index].addr, copy[Index].length = elements[Index].length), ...);
    }(std::make_index_sequence<Count>{});
    return copy.data();
  }
  [[nodiscard]] static constexpr int count() noexcept { return static_cast<int>(Count); }
  /// Wraps: ibv_wr_set_inline_data(3), ibv_wr_set_inline_data_list(3).
  void build(ibv_qp_ex* sender) const noexcept {
    if constexpr (Count == 1) {
      ibv_wr_set_inline_data(sender, memory_of(elements[0]), elements[0].length);
    } else {
      std::array<ibv_data_buf, Count> list;
      for (std::size_t index = 0; index < Count; ++index)
        list[index] = {memory_of(elements[index]), elements[index].length};
      ibv_wr_set_inline_data_list(sender, Count, list.data());
    }
  }

 private:
  [[nodiscard]] static void* memory_of(const ibv_sge& element) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(element.addr));
  }
};

[[nodiscard]] inline ibv_sge inline_element(const inline_data& data) noexcept {
  // What does not fit into 32 bits is beyond every device, and has to be refused as such.
  const std::size_t size = data.bytes().size();
  return {reinterpret_cast<std::uintptr_t>(data.bytes().data()),
          static_cast<std::uint32_t>(size < max_buffer_size ? size : max_buffer_size), 0};
}

template <class... Buffers>
[[nodiscard]] constexpr auto hold(const Buffers&... buffers) noexcept {
  return held_elements<sizeof...(Buffers)>{
      {ibv_sge{buffers.native().addr, buffers.native().length, buffers.native().lkey}...}};
}
[[nodiscard]] constexpr held_elements<0> hold() noexcept { return {}; }

// A list is a span, and nothing that converts to one: a request that is kept must not refer to a
// container that was a temporary.

/// The payload of a request that sends: buffers, one list of buffers, or inline data.
template <class... Arguments>
[[nodiscard]] constexpr auto gather(const Arguments&... arguments) noexcept {
  static_assert((std::convertible_to<const Arguments&, const_buffer> && ...),
                "a request sends buffers, one std::span of buffers, or inline_data");
  return hold(arguments...);
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
  return {{inline_element(first), inline_element(rest)...}};
}

/// The payload of a request that brings data: buffers, or one list of buffers, all mutable.
template <class... Arguments>
[[nodiscard]] constexpr auto scatter(const Arguments&... arguments) noexcept {
  static_assert(
      (std::same_as<Arguments, mutable_buffer> && ...),
      "data is received into mutable buffers, or into one std::span of them: a const_buffer "
      "can only be sent from");
  return hold(arguments...);
}
template <class Buffer, std::size_t Extent>
  requires std::same_as<std::remove_const_t<Buffer>, mutable_buffer>
[[nodiscard]] constexpr auto scatter(std::span<Buffer, Extent> list) noexcept {
  return listed_elements<mutable_buffer>{list};
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
