// SPDX-License-Identifier: MIT
// <format> support: `std::format("{}", value)` for every type that has a `to_text`. Not in the
// umbrella header, because <format> is slow to compile. Empty if the standard library has no
// <format>.
#pragma once

#include <version>

#if defined(__cpp_lib_format)

#include <format>
#include <string_view>

#include <adverb/core/text.hpp>

/// Accepts the format options of a string: width, fill, alignment, precision.
template <adverb::has_text T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view, char>::format(to_text(value).view(), context);
  }
};

#endif
