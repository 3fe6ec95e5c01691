// SPDX-License-Identifier: MIT
// The options of every example that is a server or a client.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <adverb/device/gid.hpp>

#include "common/number.hpp"

namespace examples {

struct connection_options {
  /// The server to connect to; empty in the server itself.
  std::string server{};
  std::uint16_t tcp_port = 18515;
  std::string device{};
  adverb::port_number port{1};
  /// The own GID to use; without one it is chosen by rule.
  std::optional<adverb::gid_index> gid{};

  [[nodiscard]] bool is_client() const noexcept { return !server.empty(); }

  void add_to(CLI::App& app) {
    app.add_option("HOST", server, "Connect to the server on this host; without it, be the server")
        ->type_name("");
    add_number(app, "-p,--port", tcp_port, 1, 65535, "TCP port of the server");
    app.add_option("-d,--ib-dev", device, "RDMA device (default: the first one)")
        ->type_name("NAME");
    add_number(app, "-i,--ib-port", port, 1, 255, "Port of the device");
    app.add_option("-g,--gid-idx", gid,
                   "Own GID, as an index into the port's table (default: the best one)")
        ->check(number_from(0, 255))
        ->type_name("NUMBER");
  }
};

}  // namespace examples
