// SPDX-License-Identifier: MIT
// Starts a step with a completion token of Asio.
#pragma once

#include <adverb/async/asio/detail/asio_library.hpp>
#include <adverb/async/asio/detail/net_step_operation.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Starts a step of a connection whose loop is `loop_of` an io_context, with any completion token.
/// The handler gets an error code, and the result if the step has one. From Asio 1.24 on a
/// coroutine (`asio::awaitable`) awaits a step without a token: `co_await client.next()`.
///
/// Cancellation: `total` and `partial` end what only waits for software; `terminal` ends the
/// connection too if the device has the request, and completes with `operation_aborted` once the
/// device has let go of it.
template <detail::async_step_type Step, class Token>
auto async_start(const Step& step, Token&& token) {
  return detail::net::async_initiate<Token, typename detail::net_result_of<Step>::signature>(
      detail::net_initiation<Step>{step}, token);
}

}  // namespace adverb::inline ADVERB_ABI::async
