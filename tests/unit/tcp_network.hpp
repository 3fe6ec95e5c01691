// SPDX-License-Identifier: MIT
// The ends of channels over TCP.
#pragma once

#include <cstdint>

#include <support/channel_ends.hpp>

namespace channel_test {

inline messages::network network_of_suite() noexcept { return messages::network::tcp; }
inline cm::socket_address listening_address() { return cm::socket_address::any(0); }
inline cm::socket_address address_of(std::uint16_t port) {
  return cm::socket_address::parse("127.0.0.1", port).value();
}

}  // namespace channel_test
