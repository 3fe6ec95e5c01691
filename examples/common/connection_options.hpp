// SPDX-License-Identifier: MIT
// The options of every example that is a server or a client.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "common/device_options.hpp"
#include "common/number.hpp"

namespace examples {

struct connection_options : device_options {
  /// The server to connect to; empty in the server itself.
  std::string server{};
  std::uint16_t tcp_port = 18515;

  [[nodiscard]] bool is_client() const noexcept { return !server.empty(); }

  void add_to(CLI::App& app) {
    add_connection_to(app);
    device_options::add_to(app);
  }

 protected:
  void add_connection_to(CLI::App& app) {
    app.add_option("HOST", server, "Connect to the server on this host; without it, be the server")
        ->type_name("");
    add_number(app, "-p,--port", tcp_port, 1, 65535, "TCP port of the server");
  }
};

}  // namespace examples
