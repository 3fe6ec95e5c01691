// SPDX-License-Identifier: MIT
// Connects clients that are started together with their server.
#pragma once

#include <chrono>
#include <concepts>
#include <system_error>
#include <thread>

#include <adverb/core/error.hpp>

namespace examples {

/// Calls a function that connects, repeatedly for three seconds while no program listens there: the
/// server may still be starting up.
template <std::invocable Connect>
void when_the_server_listens(const Connect& connect) {
  using namespace std::chrono_literals;
  const auto give_up = std::chrono::steady_clock::now() + 3s;
  while (true) {
    try {
      return connect();
    } catch (const adverb::error& failure) {
      if (failure.code() != std::errc::connection_refused ||
          std::chrono::steady_clock::now() > give_up)
        throw;
    }
    std::this_thread::sleep_for(50ms);
  }
}

}  // namespace examples
