// SPDX-License-Identifier: MIT
// Servers whose clients librdmacm connects.
#pragma once

#include <concepts>
#include <cstdio>
#include <exception>
#include <utility>

#include <adverb/cm.hpp>

#include "common/command_line.hpp"

namespace examples {

using cm_listener = adverb::cm::listener<adverb::transport::rc>;
using cm_request = adverb::cm::connection_request<adverb::transport::rc>;

/// Listens, and prints that: clients can connect as soon as the line appears.
[[nodiscard]] inline cm_listener listen_at(const adverb::cm::socket_address& address) {
  cm_listener listener = cm_listener::create(address);
  std::printf("listening on %s\n", adverb::to_string(listener.local_address()).c_str());
  return listener;
}

/// Serves one client after another. A failure with one client is printed, and the server continues.
template <std::invocable<cm_request> Serve>
[[noreturn]] void serve_clients(const command_line& arguments, const cm_listener& listener,
                                const Serve& serve) {
  while (true) {
    cm_request request = listener.next_request();
    try {
      serve(std::move(request));
    } catch (const std::exception& failure) {
      complain(arguments, failure.what(), failed);
    }
  }
}

}  // namespace examples
