// SPDX-License-Identifier: MIT
// {fmt} support: `fmt::format("{}", value)` for every type that has a `to_text`. Not in the
// umbrella header, because adverb does not depend on {fmt}.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <adverb/core/text.hpp>

/// Accepts the format options of a string: width, fill, alignment, precision.
template <adverb::has_text T>
struct fmt::formatter<T, char> : fmt::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const -> decltype(context.out()) {
    return fmt::formatter<std::string_view, char>::format(to_text(value).view(), context);
  }
};
