// SPDX-License-Identifier: MIT
// Rejects at compile time wrong arguments of the loops over completions.
#pragma once

#include <concepts>
#include <span>

#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if `Consume` accepts spans of completions.
template <class Consume>
consteval bool takes_spans() noexcept {
  constexpr bool takes = std::invocable<Consume&, std::span<completion>>;
  static_assert(takes,
                "completions are handed over as spans, before the condition to stop: give a "
                "function that takes a std::span<completion>");
  return takes;
}

/// Returns true if `Consume` accepts a single completion.
template <class Consume, class Completion>
consteval bool takes_each() noexcept {
  constexpr bool takes = std::invocable<Consume&, const Completion&>;
  static_assert(takes,
                "each completion is handed over by itself, before the timeout or the condition to "
                "stop: give a function that takes a const auto&");
  return takes;
}

/// Returns true if `Stop` can be called without arguments and returns a condition.
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
