// SPDX-License-Identifier: MIT
// Local buffers: registered memory as scatter/gather elements.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A call that takes a slice, and what it counts.
struct slice_call {
  const char* verb;
  std::string_view units;
};
inline constexpr slice_call slice_of_remote_buffer{"remote_buffer::slice", "elements"};
inline constexpr slice_call slice_of_const_buffer{"const_buffer::slice", "bytes"};
inline constexpr slice_call slice_of_mutable_buffer{"mutable_buffer::slice", "bytes"};

/// Reports ERANGE for a slice that exceeds `size`. Takes values, so that a slice that fits need not
/// be in memory.
[[gnu::cold]] void report_slice(on_failure policy, const slice_call& call, std::size_t offset,
                                std::size_t count, std::size_t size);

/// Reports ERANGE if `count` units from `offset` exceed `size` units. Returns true if they fit.
[[nodiscard, gnu::always_inline]] constexpr bool check_slice(on_failure policy,
                                                             const slice_call& call,
                                                             std::size_t offset, std::size_t count,
                                                             std::size_t size) {
  if (offset > size || count > size - offset) [[unlikely]] {
    report_slice(policy, call, offset, count, size);
    policy.assume_set();
    return false;
  }
  policy.clear();
  return true;
}

/// Returns a part of an element, unchecked.
[[nodiscard]] constexpr ibv_sge unchecked_part(const ibv_sge& whole, std::size_t offset,
                                               std::uint32_t length) noexcept {
  return {whole.addr + offset, length, whole.lkey};
}

/// Returns a part of an element. If the part exceeds it, reports ERANGE and returns an empty one.
[[nodiscard]] constexpr ibv_sge checked_part(const ibv_sge& whole, std::size_t offset,
                                             std::size_t length, const slice_call& call,
                                             on_failure policy) {
  if (!check_slice(policy, call, offset, length, whole.length)) return {};
  return unchecked_part(whole, offset, static_cast<std::uint32_t>(length));
}

}  // namespace detail

/// Registered memory to send from (gather): address, length, local key. A memory_region makes it.
/// Trivially copyable. Valid as long as the region.
class const_buffer {
 public:
  /// Makes the empty buffer: no bytes, no region.
  constexpr const_buffer() noexcept = default;
  /// Views an element of the C API, unchecked.
  constexpr const_buffer(adopt_t, const ibv_sge& element) noexcept : element_{element} {}

  /// Returns the address as the device sees it: the virtual address, unless the region has another.
  [[nodiscard]] constexpr std::uint64_t address() const noexcept { return element_.addr; }
  /// Returns the size in bytes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return element_.length; }
  /// Returns the local key of the region.
  [[nodiscard]] constexpr lkey key() const noexcept {
    return static_cast<adverb::lkey>(element_.lkey);
  }

  /// Returns `length` bytes from `offset`. Fails with ERANGE if they exceed the buffer.
  [[nodiscard]] constexpr const_buffer slice(std::size_t offset, std::size_t length,
                                             on_failure policy = throwing{}) const {
    return {adopt,
            detail::checked_part(element_, offset, length, detail::slice_of_const_buffer, policy)};
  }
  /// Returns a slice without checks, for hot paths that have checked already.
  [[nodiscard]] constexpr const_buffer unchecked_slice(std::size_t offset,
                                                       std::uint32_t length) const noexcept {
    return {adopt, detail::unchecked_part(element_, offset, length)};
  }

  [[nodiscard]] constexpr const ibv_sge& native() const noexcept { return element_; }

 private:
  ibv_sge element_{};
};

/// Registered memory to receive into (scatter) or send from. Converts to a const_buffer; a
/// const_buffer never converts back.
class mutable_buffer {
 public:
  constexpr mutable_buffer() noexcept = default;
  /// Views an element of the C API, unchecked.
  constexpr mutable_buffer(adopt_t, const ibv_sge& element) noexcept : element_{element} {}

  /// Returns the address as the device sees it: the virtual address, unless the region has another.
  [[nodiscard]] constexpr std::uint64_t address() const noexcept { return element_.addr; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return element_.length; }
  /// Returns the local key of the region.
  [[nodiscard]] constexpr lkey key() const noexcept {
    return static_cast<adverb::lkey>(element_.lkey);
  }

  // The same as in const_buffer.
  /// Returns `length` bytes from `offset`. Fails with ERANGE if they exceed the buffer.
  [[nodiscard]] constexpr mutable_buffer slice(std::size_t offset, std::size_t length,
                                               on_failure policy = throwing{}) const {
    return {adopt, detail::checked_part(element_, offset, length, detail::slice_of_mutable_buffer,
                                        policy)};
  }
  /// Returns `length` bytes from `offset`, unchecked.
  [[nodiscard]] constexpr mutable_buffer unchecked_slice(std::size_t offset,
                                                         std::uint32_t length) const noexcept {
    return {adopt, detail::unchecked_part(element_, offset, length)};
  }

  [[nodiscard]] constexpr const ibv_sge& native() const noexcept { return element_; }

  /// Converts to a buffer to send from.
  constexpr operator const_buffer() const noexcept { return {adopt, element_}; }

 private:
  ibv_sge element_{};
};

namespace detail {

/// The maximum size of a scatter/gather element, in bytes.
inline constexpr std::size_t max_buffer_size = std::numeric_limits<std::uint32_t>::max();

template <class Buffer>
inline constexpr bool is_element =
    sizeof(Buffer) == sizeof(ibv_sge) && alignof(Buffer) == alignof(ibv_sge) &&
    std::is_standard_layout_v<Buffer> && std::is_trivially_copyable_v<Buffer>;
static_assert(is_element<const_buffer> && is_element<mutable_buffer>);

/// Converts a list of buffers to the elements of the C API. Each buffer is pointer-interconvertible
/// with its only member, so an array of buffers is read as an array of elements. This is the only
/// such cast.
template <class Buffer>
[[nodiscard]] ibv_sge* native_elements(const Buffer* first) noexcept {
  static_assert(is_element<Buffer>);
  return reinterpret_cast<ibv_sge*>(const_cast<Buffer*>(first));
}

}  // namespace detail

/// A list of up to `Capacity` buffers inside the object, for requests of as many buffers as the
/// program finds when it runs:
///
///     buffer_list<16> list;
///     for (const auto& piece : message) list.push_back(region.const_slice(piece.at, piece.size));
///     queue_pair.post(send(std::span{list})).check();
///
/// Constructing it stores one pointer, whereas a std::array of buffers is zeroed. It must
/// live until the request is posted.
template <std::size_t Capacity, class Buffer = const_buffer>
class buffer_list {
 public:
  using value_type = Buffer;

  buffer_list() noexcept {}
  // The rest of the room is not initialised, so it is not copied.
  buffer_list(const buffer_list& other) noexcept { append(other); }
  buffer_list& operator=(const buffer_list& other) noexcept {
    if (this != &other) {
      clear();
      append(other);
    }
    return *this;
  }
  ~buffer_list() = default;

  /// Adds a buffer. Terminates the program if the list is full (ADVERB_HARDENING_FAST).
  void push_back(Buffer buffer) noexcept {
    if constexpr (detail::hardened(ADVERB_HARDENING_FAST))
      if (end_ == offset{sizeof buffers_}) [[unlikely]]
        end_of_full_list();
    const auto at = static_cast<std::size_t>(end_);
    ::new (static_cast<void*>(reinterpret_cast<std::byte*>(buffers_) + at)) Buffer{buffer};
    end_ = offset{at + sizeof(Buffer)};
  }
  /// Removes all buffers.
  void clear() noexcept { end_ = offset{}; }

  /// Returns the maximum number of buffers.
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Capacity; }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(end_) / sizeof(Buffer);
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const Buffer* data() const noexcept { return buffers_; }
  [[nodiscard]] const Buffer* begin() const noexcept { return buffers_; }
  [[nodiscard]] const Buffer* end() const noexcept { return buffers_ + size(); }

 private:
  void append(const buffer_list& other) noexcept {
    for (const Buffer& each : other) push_back(each);
  }

  [[noreturn, gnu::cold, gnu::noinline]] static void end_of_full_list() noexcept {
    detail::end_program("buffer_list::push_back", [](failure_description& description) {
      description.explain("the list is full: its capacity is {}", {Capacity});
    });
  }

  // In a union, an array is not initialised.
  union {
    Buffer buffers_[Capacity];
  };
  // In bytes. No field of a buffer has this type, so storing a buffer does not change it, and the
  // compiler keeps it in a register. A pointer to the end would point into the object itself; Clang
  // would then store it for each buffer.
  enum class offset : std::size_t {};
  offset end_{};
};

/// A region cut into blocks of equal size, numbered from 0.
template <class Buffer>
class buffer_blocks {
 public:
  buffer_blocks() noexcept = default;
  /// Makes the blocks of registered memory from its parts, unchecked.
  buffer_blocks(adopt_t, std::uint64_t address, lkey key, std::uint32_t block_size,
                std::size_t count) noexcept
      : address_{address}, count_{count}, block_size_{block_size}, key_{key} {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Returns the size of one block in bytes.
  [[nodiscard]] std::uint32_t block_size() const noexcept { return block_size_; }

  /// Returns a block. Aborts the program if `index` is out of range (ADVERB_HARDENING_FAST).
  [[nodiscard]] Buffer operator[](std::size_t index) const noexcept {
    if constexpr (detail::hardened(ADVERB_HARDENING_FAST))
      if (index >= count_) [[unlikely]]
        out_of_range(index, count_);
    return Buffer{adopt, ibv_sge{address_ + index * block_size_, block_size_,
                                 static_cast<std::uint32_t>(key_)}};
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void out_of_range(std::size_t index,
                                                                  std::size_t count) noexcept {
    detail::end_program("buffer_blocks::operator[]", [=](failure_description& description) {
      description.explain("block {} is out of range: the count is {}", {index, count});
    });
  }

  std::uint64_t address_ = 0;
  std::size_t count_ = 0;
  std::uint32_t block_size_ = 0;
  lkey key_{};
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/buffer.ipp>
#endif
