// SPDX-License-Identifier: MIT
// A peer of channels over TCP that sends any bytes.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/channel_ends.hpp>

namespace channel_test {

/// A plain socket.
class plain_socket {
 public:
  explicit plain_socket(const cm::socket_address& to)
      : descriptor_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    is_connected_ = ::connect(descriptor_, to.native(), to.length()) == 0;
  }
  plain_socket(const plain_socket&) = delete;
  plain_socket& operator=(const plain_socket&) = delete;
  ~plain_socket() { ::close(descriptor_); }
  [[nodiscard]] bool is_connected() const noexcept { return is_connected_; }
  void send(std::span<const std::byte> bytes) const {
    static_cast<void>(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  /// Has the end of this object reset the connection.
  void reset_at_end() const {
    const linger none{.l_onoff = 1, .l_linger = 0};
    static_cast<void>(::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &none, sizeof none));
  }
  /// Reads to the end.
  [[nodiscard]] std::vector<std::byte> all() const {
    std::vector<std::byte> bytes;
    std::array<std::byte, 256> some;
    for (ssize_t got = 0; (got = ::recv(descriptor_, some.data(), some.size(), 0)) > 0;)
      bytes.insert(bytes.end(), some.begin(), some.begin() + got);
    return bytes;
  }
  /// Reads to the end. Returns the last bytes.
  [[nodiscard]] std::vector<std::byte> last(std::size_t count) const {
    const std::vector<std::byte> bytes = all();
    return {bytes.end() - static_cast<std::ptrdiff_t>(count), bytes.end()};
  }
  /// Returns the number of bytes that have come and were not read.
  [[nodiscard]] std::size_t unread() const {
    int count = 0;
    static_cast<void>(::ioctl(descriptor_, FIONREAD, &count));
    return static_cast<std::size_t>(count);
  }
  /// Appends the bytes that have come. Returns true at the end of the connection.
  [[nodiscard]] bool read_to(std::vector<std::byte>& bytes) const {
    std::array<std::byte, 256> some;
    ssize_t got = 0;
    while ((got = ::recv(descriptor_, some.data(), some.size(), MSG_DONTWAIT)) > 0)
      bytes.insert(bytes.end(), some.begin(), some.begin() + got);
    return got == 0 || errno != EAGAIN;
  }
  /// Returns true if the peer has closed the connection.
  [[nodiscard]] bool is_at_end() const {
    std::vector<std::byte> rest;
    return read_to(rest);
  }

 private:
  int descriptor_;
  bool is_connected_ = false;
};

[[nodiscard]] inline std::vector<std::byte> bytes_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}
[[nodiscard]] inline std::vector<std::byte> greeting() {
  return bytes_of(detail::handshake::of(few_receives(), throwing{}).encode().bytes());
}

}  // namespace channel_test
