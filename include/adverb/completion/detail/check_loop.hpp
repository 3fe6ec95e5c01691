// SPDX-License-Identifier: MIT
// Says in a sentence what the loops over completions have to be given.
#pragma once

#include <concepts>
#include <span>

#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// True when `Consume` can be called with spans of completions.
template <class Consume>
consteval bool takes_spans() noexcept {
  constexpr bool takes = std::invocable<Consume&, std::span<completion>>;
  static_assert(takes,
                "completions are handed over as spans, before the condition to stop: give a "
                "function that takes a std::span<completion>");
  return takes;
}

/// True when `Consume` can be called with each completion.
template <class Consume, class Completion>
consteval bool takes_each() noexcept {
  constexpr bool takes = std::invocable<Consume&, const Completion&>;
  static_assert(takes,
                "each completion is handed over by itself, before the timeout or the condition to "
                "stop: give a function that takes a const auto&");
  return takes;
}

/// True when `Stop` can be asked whether to stop.
template <class Stop>
consteval bool says_when_to_stop() noexcept {
  constexpr bool says = requires(Stop& stop) {
    { stop() } -> std::convertible_to<bool>;
  };
  static_assert(says,
                "say when to stop by a function without parameters that returns a bool: "
                "[&] { return stopped.load(); }");
  return says;
}

}  // namespace adverb::inline ADVERB_ABI::detail
