// SPDX-License-Identifier: MIT
// Sockets that are connected to a name, or listen on a port, over IPv6 or IPv4.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/file_descriptor.hpp"
#include "common/patience.hpp"

namespace examples {

[[nodiscard]] inline std::runtime_error network_error(const std::string& what, int number) {
  return std::runtime_error{what + ": " + std::generic_category().message(number)};
}

template <class Value>
void set_option(const file_descriptor& socket, int level, int name, const Value& value) {
  if (::setsockopt(socket.number(), level, name, &value, sizeof value) != 0)
    throw network_error("cannot set an option of a socket", errno);
}

/// Makes every later operation fail with EAGAIN or EINPROGRESS after `patience`. A peer whose host
/// has died fails the socket after ten seconds, which also ends a wait in poll(2).
inline void limit_waiting(const file_descriptor& socket) {
  const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
  set_option(socket, SOL_SOCKET, SO_RCVTIMEO, limit);
  set_option(socket, SOL_SOCKET, SO_SNDTIMEO, limit);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

using address_list =
    std::unique_ptr<addrinfo, decltype([](addrinfo* list) noexcept { ::freeaddrinfo(list); })>;

[[nodiscard]] inline address_list addresses_of(const std::string& host, std::uint16_t port) {
  const addrinfo wanted{.ai_flags = AI_NUMERICSERV,
                        .ai_family = AF_UNSPEC,
                        .ai_socktype = SOCK_STREAM,
                        .ai_protocol = 0,
                        .ai_addrlen = 0,
                        .ai_addr = nullptr,
                        .ai_canonname = nullptr,
                        .ai_next = nullptr};
  addrinfo* list = nullptr;
  const int result = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (result != 0)
    throw std::runtime_error{"cannot find the host " + host + ": " + ::gai_strerror(result)};
  return address_list{list};
}

/// Returns a socket connected to the first of the addresses that answers, or an empty one with
/// errno set.
[[nodiscard]] inline file_descriptor connect_to_one_of(const addrinfo* address) {
  for (; address != nullptr; address = address->ai_next) {
    file_descriptor socket{::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) continue;
    limit_waiting(socket);
    if (::connect(socket.number(), address->ai_addr, address->ai_addrlen) == 0) return socket;
    if (errno == EINPROGRESS) errno = ETIMEDOUT;
  }
  return {};
}

/// The same by name, repeated for three seconds while no program listens there.
[[nodiscard]] inline file_descriptor connect_patiently(const std::string& host,
                                                       std::uint16_t port) {
  using namespace std::chrono_literals;
  const address_list addresses = addresses_of(host, port);
  const auto give_up = std::chrono::steady_clock::now() + 3s;
  while (true) {
    file_descriptor socket = connect_to_one_of(addresses.get());
    if (socket) return socket;
    const int number = errno;
    if (number != ECONNREFUSED || std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error{
          network_error("cannot connect to " + host + " port " + std::to_string(port), number)
              .what() +
          std::string{"; is the server running there?"}};
    std::this_thread::sleep_for(50ms);
  }
}

/// Returns true if the socket listens. Otherwise returns false and sets errno.
template <class Address>
[[nodiscard]] bool start_listening(const file_descriptor& socket, const Address& address) {
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  return ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0 &&
         ::listen(socket.number(), 1) == 0;
}

/// Returns a socket that listens over IPv6 and IPv4, or over IPv4 alone if there is no IPv6.
[[nodiscard]] inline file_descriptor listen_on(std::uint16_t port) {
  file_descriptor socket{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    if (start_listening(socket, any)) return socket;
  }
  if (!socket || errno == EADDRNOTAVAIL) {
    socket = file_descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    if (socket && start_listening(socket, any)) return socket;
  }
  throw std::runtime_error{
      network_error("cannot listen on TCP port " + std::to_string(port), errno).what() +
      std::string{"; --port chooses another"}};
}

}  // namespace examples
