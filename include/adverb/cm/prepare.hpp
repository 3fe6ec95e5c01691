// SPDX-License-Identifier: MIT
// Callbacks that run before a queue pair is connected.
#pragma once

#include <cerrno>
#include <concepts>
#include <string_view>
#include <type_traits>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A function to call with a connector or request whose queue pair exists but is not connected, for
/// example to post receives. Returns nothing, or whether to continue, for code without exceptions.
template <class Function, class Ready>
concept preparation = std::invocable<Function&, Ready&> &&
                      (std::is_void_v<std::invoke_result_t<Function&, Ready&>> ||
                       std::convertible_to<std::invoke_result_t<Function&, Ready&>, bool>);

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Does nothing.
inline constexpr auto no_preparation = [](const auto&) {};

/// Calls the preparation. If it returns false, reports ECANCELED and returns false.
template <class Ready, cm::preparation<Ready> Prepare>
[[nodiscard]] bool prepared(on_failure policy, std::string_view verb, Ready& ready,
                            Prepare& prepare) {
  if constexpr (std::is_void_v<std::invoke_result_t<Prepare&, Ready&>>) {
    prepare(ready);
    return true;
  } else {
    if (prepare(ready)) return true;
    policy.report(ECANCELED, verb, [&](failure_description& description) {
      description.explain("the program gave it up when it saw the queue pair");
    });
    return false;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
