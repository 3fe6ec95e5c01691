// SPDX-License-Identifier: MIT
// The ends of channels over TCP.
#pragma once

#include <cstdint>

#include <sys/socket.h>

#include <support/channel_ends.hpp>

namespace channel_test {

inline messages::network network_of_suite() noexcept { return messages::network::tcp; }
inline cm::socket_address listening_address() { return cm::socket_address::any(0); }
inline cm::socket_address address_of(std::uint16_t port) {
  return cm::socket_address::parse("127.0.0.1", port).value();
}

/// Ends the connection of a channel with a FIN or a RST, by turns.
inline void break_link(const messages::channel& of) {
  static int count = 0;
  const cm::socket_address peer = of.peer_address();
  constexpr int most_descriptors = 1024;
  for (int descriptor = 3; descriptor < most_descriptors; ++descriptor) {
    sockaddr_storage found{};
    socklen_t size = sizeof found;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&found), &size) == -1) continue;
    if (detail::address_in(reinterpret_cast<const sockaddr*>(&found)) != peer) continue;
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    if (++count % 2 == 0)
      ::shutdown(descriptor, SHUT_RDWR);
    else
      static_cast<void>(::connect(descriptor, &none, sizeof none));
  }
}

}  // namespace channel_test
