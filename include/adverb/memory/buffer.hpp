// SPDX-License-Identifier: MIT
// Local buffers: registered memory as the elements of scatter/gather lists.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Reports ERANGE when `count` from `offset` are not inside `size`, each in these units. True when
/// they are.
[[nodiscard]] constexpr bool check_slice(on_failure policy, std::string_view verb,
                                         std::size_t offset, std::size_t count, std::size_t size,
                                         std::string_view units) {
  if (offset > size || count > size - offset) [[unlikely]] {
    policy.report(ERANGE, verb, [&](failure_description& description) {
      description.explain([&](text_writer& writer) {
        writer.decimal(count).put(" ").put(units).put(" from ").decimal(offset);
        writer.put(" are not inside ").decimal(size);
      });
    });
    return false;
  }
  policy.clear();
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A part of an element that nothing checks.
[[nodiscard]] constexpr ibv_sge unchecked_part(const ibv_sge& whole, std::size_t offset,
                                               std::uint32_t length) noexcept {
  return {whole.addr + offset, length, whole.lkey};
}

/// A part of an element, or an empty one. Reports ERANGE when it is not inside.
[[nodiscard]] constexpr ibv_sge checked_part(const ibv_sge& whole, std::size_t offset,
                                             std::size_t length, std::string_view verb,
                                             on_failure policy) {
  if (!check_slice(policy, verb, offset, length, whole.length, "bytes")) return {};
  return unchecked_part(whole, offset, static_cast<std::uint32_t>(length));
}

}  // namespace detail

/// A piece of registered memory that can be sent from (gathered): address, length, local key.
/// Made by a memory_region. Trivially copyable; valid as long as the region.
class const_buffer {
 public:
  /// The empty buffer: no bytes of no region.
  constexpr const_buffer() noexcept = default;
  /// Views an element of the C API, unchecked.
  constexpr const_buffer(adopt_t, const ibv_sge& element) noexcept : element_{element} {}

  /// As the device sees it: the virtual address, unless the region was given another.
  [[nodiscard]] constexpr std::uint64_t address() const noexcept { return element_.addr; }
  /// In bytes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return element_.length; }
  [[nodiscard]] constexpr lkey key() const noexcept {
    return static_cast<adverb::lkey>(element_.lkey);
  }

  /// `length` bytes from `offset`. Reports ERANGE when they are not all inside.
  [[nodiscard]] constexpr const_buffer slice(std::size_t offset, std::size_t length,
                                             on_failure policy = throwing{}) const {
    return {adopt, detail::checked_part(element_, offset, length, "const_buffer::slice", policy)};
  }
  /// A slice that nothing checks, for hot paths that have checked already.
  [[nodiscard]] constexpr const_buffer unchecked_slice(std::size_t offset,
                                                       std::uint32_t length) const noexcept {
    return {adopt, detail::unchecked_part(element_, offset, length)};
  }

  [[nodiscard]] constexpr const ibv_sge& native() const noexcept { return element_; }

 private:
  ibv_sge element_{};
};

/// A piece of registered memory that can be received into (scattered). Converts to a const_buffer;
/// a const_buffer never converts back.
class mutable_buffer {
 public:
  constexpr mutable_buffer() noexcept = default;
  constexpr mutable_buffer(adopt_t, const ibv_sge& element) noexcept : element_{element} {}

  /// As the device sees it: the virtual address, unless the region was given another.
  [[nodiscard]] constexpr std::uint64_t address() const noexcept { return element_.addr; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return element_.length; }
  [[nodiscard]] constexpr lkey key() const noexcept {
    return static_cast<adverb::lkey>(element_.lkey);
  }

  // The same as those of const_buffer.
  [[nodiscard]] constexpr mutable_buffer slice(std::size_t offset, std::size_t length,
                                               on_failure policy = throwing{}) const {
    return {adopt, detail::checked_part(element_, offset, length, "mutable_buffer::slice", policy)};
  }
  [[nodiscard]] constexpr mutable_buffer unchecked_slice(std::size_t offset,
                                                         std::uint32_t length) const noexcept {
    return {adopt, detail::unchecked_part(element_, offset, length)};
  }

  [[nodiscard]] constexpr const ibv_sge& native() const noexcept { return element_; }

  constexpr operator const_buffer() const noexcept { return {adopt, element_}; }

 private:
  ibv_sge element_{};
};

namespace detail {

/// The longest element of a scatter/gather list.
inline constexpr std::size_t max_buffer_size = std::numeric_limits<std::uint32_t>::max();

template <class Buffer>
inline constexpr bool is_element =
    sizeof(Buffer) == sizeof(ibv_sge) && alignof(Buffer) == alignof(ibv_sge) &&
    std::is_standard_layout_v<Buffer> && std::is_trivially_copyable_v<Buffer>;
static_assert(is_element<const_buffer> && is_element<mutable_buffer>);

/// A list of buffers as the C API takes it. Each buffer is pointer-interconvertible with its one
/// member, so an array of them is read as an array of elements. The one such cast.
template <class Buffer>
[[nodiscard]] ibv_sge* native_elements(const Buffer* first) noexcept {
  static_assert(is_element<Buffer>);
  return reinterpret_cast<ibv_sge*>(const_cast<Buffer*>(first));
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
