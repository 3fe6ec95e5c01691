// SPDX-License-Identifier: MIT
// What a program does with a queue pair just before it is connected.
#pragma once

#include <cerrno>
#include <concepts>
#include <string_view>
#include <type_traits>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What can be called with a connector or a request that has its queue pair, before it is
/// connected: to post receives, say. It returns nothing; or whether to go on, which is for code
/// without exceptions.
template <class Function, class Ready>
concept preparation = std::invocable<Function&, Ready&> &&
                      (std::is_void_v<std::invoke_result_t<Function&, Ready&>> ||
                       std::convertible_to<std::invoke_result_t<Function&, Ready&>, bool>);

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Posts nothing.
inline constexpr auto no_preparation = [](const auto&) {};

/// Calls what prepares. False when it gives up, which is reported (ECANCELED).
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
