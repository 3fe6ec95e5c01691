// SPDX-License-Identifier: MIT
// A check of functions that are called with one of two engines.
#pragma once

#include <concepts>
#include <type_traits>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if a function returns the same type with either engine; otherwise compilation fails
/// with an explanation.
template <class Function, class Extended, class Classic>
consteval bool returns_the_same() noexcept {
  constexpr bool callable =
      std::invocable<Function&, const Extended&> && std::invocable<Function&, const Classic&>;
  static_assert(
      callable,
      "the function must accept both the extended and the classic engine: take a const auto&");
  if constexpr (callable) {
    constexpr bool same = std::same_as<std::invoke_result_t<Function&, const Extended&>,
                                       std::invoke_result_t<Function&, const Classic&>>;
    static_assert(same, "the function must return the same type for both engines");
    return same;
  } else {
    return false;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
