// SPDX-License-Identifier: MIT
// The options of the examples whose connections librdmacm makes.
#pragma once

#include <cstdint>
#include <string>

#include <adverb/cm.hpp>

#include "common/command_line.hpp"

namespace examples {

/// Returns an error unless the text is an IPv4 or IPv6 address, otherwise an empty text.
[[nodiscard]] inline std::string check_ip_address(const std::string& text) {
  if (adverb::cm::socket_address::parse(text, 0)) return {};
  return "must be an IP address, not " + text;
}

struct cm_options {
  /// The server to connect to; empty in the server itself.
  std::string server{};
  std::string address{};
  std::uint16_t port = 7471;

  [[nodiscard]] bool is_client() const noexcept { return !server.empty(); }

  /// Returns the address on which the server listens.
  [[nodiscard]] adverb::cm::socket_address listening() const {
    return address.empty() ? adverb::cm::socket_address::any(port) : own(port);
  }
  /// Returns the address from which the client connects; empty to let the route decide.
  [[nodiscard]] adverb::cm::socket_address from() const {
    return address.empty() ? adverb::cm::socket_address{} : own(0);
  }

  /// For programs that are client or server.
  option add_server_to(command_line& arguments, const std::string& description) {
    return arguments.add_text("HOST", server, description).type_name("");
  }
  void add_to(command_line& arguments) {
    arguments
        .add_text("-a,--address", address,
                  "Address of this machine to listen on (default: any), or to connect from")
        .check(check_ip_address)
        .type_name("ADDRESS");
    add_port_to(arguments);
  }
  void add_port_to(command_line& arguments) {
    arguments.add_number("-p,--port", port, 1, 65535, "Port of the server");
  }

 private:
  [[nodiscard]] adverb::cm::socket_address own(std::uint16_t number) const {
    return adverb::cm::socket_address::parse(address, number).value();
  }
};

}  // namespace examples
