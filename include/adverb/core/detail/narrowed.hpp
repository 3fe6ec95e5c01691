// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Casts between types that are the same on some platforms, where a cast in place would be useless
/// and is a warning (-Wuseless-cast).
template <class To, class From>
[[nodiscard, gnu::always_inline]] constexpr To narrowed(From value) noexcept {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else
    return static_cast<To>(value);
}

}  // namespace adverb::inline ADVERB_ABI::detail
