// SPDX-License-Identifier: MIT
// Process memory that can be registered.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <adverb/memory/access.hpp>

namespace adverb::inline ADVERB_ABI {

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
                "the device copies bytes: registered memory holds trivially copyable types");
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

/// Explains why const memory cannot be registered. Writes nothing if it can.
inline void explain_constant(text_writer& writer, bool constant, access_rights rights) noexcept {
  if (!constant || !rights.intersects(writing_rights)) return;
  writer.put("the memory is const, and ").put(rights & writing_rights).put(" would change it");
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
