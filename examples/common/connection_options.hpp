// SPDX-License-Identifier: MIT
// The options of every example that is a server or a client.
#pragma once

#include <cstdint>
#include <string>

#include "common/command_line.hpp"
#include "common/device_options.hpp"

namespace examples {

struct connection_options : device_options {
  /// The server to connect to; empty in the server itself.
  std::string server{};
  std::uint16_t tcp_port = 18515;

  [[nodiscard]] bool is_client() const noexcept { return !server.empty(); }

  void add_to(command_line& arguments) {
    add_connection_to(arguments);
    device_options::add_to(arguments);
  }

 protected:
  void add_connection_to(command_line& arguments) {
    arguments
        .add_text("HOST", server,
                  "Connect to the server on this host; without it, run as the server")
        .type_name("");
    arguments.add_number("-p,--port", tcp_port, 1, 65535, "TCP port of the server");
  }
};

}  // namespace examples
