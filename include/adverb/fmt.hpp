// SPDX-License-Identifier: MIT
// {fmt}: `fmt::format("{}", value)` for every type that has a `to_text`. Not part of the umbrella
// header: adverb does not need {fmt}.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <adverb/core/text.hpp>

/// Takes what a string takes: width, fill, alignment, precision.
template <adverb::has_text T>
struct fmt::formatter<T, char> : fmt::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const -> decltype(context.out()) {
    return fmt::formatter<std::string_view, char>::format(to_text(value).view(), context);
  }
};
