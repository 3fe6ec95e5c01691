// SPDX-License-Identifier: MIT
// Connects a step as a sender with a receiver.
#pragma once

#include <type_traits>
#include <utility>

#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/senders/detail/execution.hpp>
#include <adverb/async/senders/detail/sender_operation.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Returns how a step completes as a sender: with its result, with an error code, or stopped.
template <detail::async_step_type Step>
[[nodiscard]] consteval auto async_completions(const Step&) noexcept {
  if constexpr (std::is_void_v<detail::async_result_of<Step>>)
    return detail::step_completions<>{};
  else
    return detail::step_completions<detail::async_result_of<Step>>{};
}

/// Makes one start of a step as a sender. It completes on the thread of the loop.
///
/// A step is stopped if the program has cancelled it, or if its receiver requests it (by the stop
/// token of its environment), on the thread of the loop. A request ends what waits for software at
/// once. It ends the connection if the device has the request, and completes when the device has
/// let go of it.
///
/// A sender in progress keeps the loop running. The destructor of the loop completes it as stopped.
template <detail::async_step_type Step, class Receiver,
          class Library = detail::execution::set_value_t>
[[nodiscard]] auto async_connect(const Step& step, Receiver&& receiver) noexcept(
    std::is_nothrow_copy_constructible_v<Step> &&
    std::is_nothrow_constructible_v<std::remove_cvref_t<Receiver>, Receiver>) {
  return detail::sender_operation<Step, std::remove_cvref_t<Receiver>, Library>{
      step, std::forward<Receiver>(receiver)};
}

}  // namespace adverb::inline ADVERB_ABI::async

// Every step is a sender.
/// @cond
template <adverb::detail::async_step_type Step>
inline constexpr bool ADVERB_EXECUTION::enable_sender<Step> = true;
/// @endcond
