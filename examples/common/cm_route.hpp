// SPDX-License-Identifier: MIT
// The way to a server: its name, its address, the device that leads there.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>

#include <adverb/cm.hpp>

#include "common/tcp_address.hpp"

namespace examples {

/// A way on which a queue pair can be made.
using cm_route = adverb::cm::connector<adverb::transport::rc, adverb::cm::step::route_resolved>;

/// To the first of the host's addresses that an RDMA device leads to.
[[nodiscard]] inline cm_route route_to(const std::string& host, std::uint16_t port,
                                       const adverb::cm::socket_address& from = {}) {
  const address_list addresses = addresses_of(host, port);
  for (const addrinfo* each = addresses.get();; each = each->ai_next) {
    try {
      auto start = adverb::cm::connector<adverb::transport::rc>::create();
      auto near =
          start.resolve_address({adverb::adopt, each->ai_addr, each->ai_addrlen}, {.from = from});
      return near.resolve_route();
    } catch (const adverb::error&) {
      if (each->ai_next == nullptr) throw;
    }
  }
}

/// Does what connects, again and again for three seconds while nobody listens there: the server may
/// still be starting up.
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
