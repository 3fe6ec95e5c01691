// SPDX-License-Identifier: MIT
// The loop of an io_context, for connections on it.
#pragma once

#include <adverb/async/asio/detail/asio_library.hpp>
#include <adverb/async/asio/detail/net_loop.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Returns the loop of an io_context, which owns it. The options count at the first call. Its
/// connections are used by the thread that runs the io_context; only one may.
///
///     asio::io_context context;
///     async::listener listener{async::loop_of(context), 7471};
[[nodiscard]] inline device_loop& loop_of(detail::net::io_context& context,
                                          const device_loop_options& options = {}) {
  auto& owner = static_cast<detail::net::execution_context&>(context);
  if (!detail::net::has_service<detail::net_loop>(owner))
    return detail::net::make_service<detail::net_loop>(owner, options);
  return detail::net::use_service<detail::net_loop>(owner);
}

}  // namespace adverb::inline ADVERB_ABI::async
