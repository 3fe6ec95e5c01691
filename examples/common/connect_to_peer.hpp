// SPDX-License-Identifier: MIT
// Connects to the peer if the program is the client, or waits for the peer if it is the server.
#pragma once

#include "common/connection_options.hpp"
#include "common/tcp_connection.hpp"

namespace examples {

[[nodiscard]] inline tcp_connection connect_to_peer(const connection_options& options) {
  return options.is_client() ? tcp_connection::to(options.server, options.tcp_port)
                             : tcp_listener{options.tcp_port}.accept();
}

}  // namespace examples
