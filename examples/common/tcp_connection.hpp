// SPDX-License-Identifier: MIT
// The TCP connection over which two programs exchange their RDMA addresses.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/file_descriptor.hpp"
#include "common/patience.hpp"
#include "common/tcp_address.hpp"

namespace examples {

/// A connection to the peer. Sends and receives exactly the given number of bytes; throws if the
/// peer closes before that, or is silent for `patience`.
class tcp_connection {
 public:
  explicit tcp_connection(file_descriptor&& connected) : socket_{std::move(connected)} {
    limit_waiting(socket_);
  }

  /// Connects to a server, which may still be starting up.
  [[nodiscard]] static tcp_connection to(const std::string& host, std::uint16_t port) {
    return tcp_connection{connect_patiently(host, port)};
  }

  void send(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) throw peer_error(errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  void receive(std::span<std::byte> bytes) const {
    const std::size_t wanted = bytes.size();
    while (!bytes.empty()) {
      const ssize_t count = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
      if (count < 0) throw peer_error(errno);
      if (count == 0)
        throw std::runtime_error{"the peer closed the connection after " +
                                 std::to_string(wanted - bytes.size()) + " of " +
                                 std::to_string(wanted) + " bytes; see its error message"};
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  template <std::size_t Size>
  [[nodiscard]] std::array<std::byte, Size> receive() const {
    std::array<std::byte, Size> bytes{};
    receive(bytes);
    return bytes;
  }

  /// Returns true if the peer sends something, or closes, within this time; a negative time has no
  /// limit. Returns false if a signal arrives meanwhile.
  [[nodiscard]] bool has_message(int milliseconds = 0) const {
    pollfd socket{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    return ::poll(&socket, 1, milliseconds) > 0;
  }

  /// Returns when the peer has called it, too.
  void synchronize() const {
    std::array<std::byte, 1> nothing{};
    send(nothing);
    receive(nothing);
  }

 private:
  [[nodiscard]] static std::runtime_error peer_error(int number) {
    if (number == EAGAIN) {
      std::string words = "the peer sent nothing for ";
      words.append(std::to_string(patience.count()));
      words.append(" seconds; is it the same kind of program?");
      return std::runtime_error{words};
    }
    return network_error("the peer is gone", number);
  }

  file_descriptor socket_;
};

/// Waits for clients.
class tcp_listener {
 public:
  explicit tcp_listener(std::uint16_t port) : socket_{listen_on(port)} {}

  /// Returns the next client.
  [[nodiscard]] tcp_connection accept() const {
    file_descriptor accepted{::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!accepted) throw network_error("cannot accept a client", errno);
    return tcp_connection{std::move(accepted)};
  }

 private:
  file_descriptor socket_;
};

}  // namespace examples
