// SPDX-License-Identifier: MIT
// <format>: `std::format("{}", value)` for every type that has a `to_text`. Not part of the
// umbrella header, because of what <format> costs to compile. Where the standard library has no
// <format>, this header is empty.
#pragma once

#include <version>

#if defined(__cpp_lib_format)

#include <format>
#include <string_view>

#include <adverb/core/text.hpp>

/// Takes what a string takes: width, fill, alignment, precision.
template <adverb::has_text T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view, char>::format(to_text(value).view(), context);
  }
};

#endif
