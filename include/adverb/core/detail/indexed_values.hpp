// SPDX-License-Identifier: MIT
// Values of several types, found by index: std::tuple without <tuple>, which is slow to compile.
#pragma once

#include <cstddef>
#include <utility>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

template <std::size_t Index, class T>
struct indexed_value {
  T value;
};

template <class Indices, class... T>
struct indexed_value_list;
template <std::size_t... Index, class... T>
struct indexed_value_list<std::index_sequence<Index...>, T...> : indexed_value<Index, T>... {};

/// One value of each type. An aggregate, uninitialised where the types are.
template <class... T>
using indexed_values = indexed_value_list<std::index_sequence_for<T...>, T...>;

template <std::size_t Index, class T>
[[nodiscard, gnu::always_inline]] constexpr T& value_at(indexed_value<Index, T>& all) noexcept {
  return all.value;
}
template <std::size_t Index, class T>
[[nodiscard, gnu::always_inline]] constexpr const T& value_at(
    const indexed_value<Index, T>& all) noexcept {
  return all.value;
}

}  // namespace adverb::inline ADVERB_ABI::detail
