// SPDX-License-Identifier: MIT
// Process memory that can be registered, and the rights to it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI {

/// An access right to memory. Local reads are always allowed.
enum class access_right : std::uint32_t {
  local_write = IBV_ACCESS_LOCAL_WRITE,
  remote_write = IBV_ACCESS_REMOTE_WRITE,
  remote_read = IBV_ACCESS_REMOTE_READ,
  remote_atomic = IBV_ACCESS_REMOTE_ATOMIC,
  window_bind = IBV_ACCESS_MW_BIND,
  zero_based = IBV_ACCESS_ZERO_BASED,
  on_demand = IBV_ACCESS_ON_DEMAND,
  huge_pages = IBV_ACCESS_HUGETLB,
  // IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which rdma-core 44 lacks.
  flush_global = 1U << 8,
  flush_persistent = 1U << 9,
  relaxed_ordering = IBV_ACCESS_RELAXED_ORDERING,
};
template <>
inline constexpr bool is_flag<access_right> = true;
/// A set of access rights.
using access_rights = flags<access_right>;

[[nodiscard]] constexpr std::string_view flag_name(access_right right) noexcept {
  constexpr std::string_view names =
      "local_write|remote_write|remote_read|remote_atomic|window_bind|zero_based|on_demand|"
      "huge_pages|flush_global|flush_persistent|||||||||||relaxed_ordering";
  return detail::listed_bit_name(names, static_cast<std::uint32_t>(right));
}

namespace detail {
/// The rights that a region can grant to a peer.
inline constexpr access_rights remote_rights =
    access_right::remote_write | access_right::remote_read | access_right::remote_atomic |
    access_right::flush_global | access_right::flush_persistent;
/// The rights that change memory.
inline constexpr access_rights writing_rights =
    access_right::local_write | access_right::remote_write | access_right::remote_atomic;

/// Returns whether `address` has the alignment that the rights need.
[[nodiscard]] constexpr bool is_aligned_for(access_rights rights, std::uint64_t address) noexcept {
  return !rights.contains(access_right::remote_atomic) || address % 8 == 0;
}
inline constexpr std::string_view unaligned_for_atomics =
    "atomic operations need an address that is a multiple of 8";
}  // namespace detail

/// Contiguous memory that outlives the expression that names it: an lvalue container or array, or
/// a span.
template <class Range>
concept registrable_memory =
    (std::is_lvalue_reference_v<Range> || requires {
      []<class T, std::size_t N>(std::span<T, N>) {}(std::declval<Range>());
    }) && requires(Range&& range) {
      { *std::data(range) };
      { std::size(range) } -> std::convertible_to<std::size_t>;
    };

namespace detail {

/// Memory as the C API takes it, without const. An earlier check ensures that const memory is never
/// written.
struct byte_range {
  void* begin;
  std::size_t length;
  bool constant;

  [[nodiscard]] std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(begin);
  }
};

template <class Range>
[[nodiscard]] byte_range bytes_of(Range& memory) noexcept {
  using element = std::remove_pointer_t<decltype(std::data(memory))>;
  static_assert(std::is_trivially_copyable_v<element>,
                "registered memory holds only trivially copyable types");
  return {const_cast<std::remove_cv_t<element>*>(std::data(memory)),
          std::size(memory) * sizeof(element), std::is_const_v<element>};
}

/// Returns the default rights: local_write, or none for const memory.
template <class Range>
[[nodiscard]] constexpr access_rights default_rights() noexcept {
  using element = std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>;
  if constexpr (std::is_const_v<element>)
    return {};
  else
    return access_right::local_write;
}

/// Returns whether const memory cannot be registered with these rights.
[[nodiscard]] constexpr bool writes_constant(bool constant, access_rights rights) noexcept {
  return constant && rights.intersects(writing_rights);
}

/// Explains why const memory cannot be registered. Writes nothing if it can.
inline void explain_constant(text_writer& writer, bool constant, access_rights rights) noexcept {
  if (!writes_constant(constant, rights)) return;
  writer.put("the memory is const, and ").put(rights & writing_rights).put(" would change it");
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
