// SPDX-License-Identifier: MIT
// How two ping-pong programs meet. The client says its address first. The server answers when its
// queue pair can receive, and the client's "done" says that its own can, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string_view>

#include <adverb/adverb.hpp>

#include "common/connect_to_peer.hpp"
#include "common/pingpong_line.hpp"

namespace examples {

class pingpong_peer {
 public:
  /// Meets the peer and learns its address.
  pingpong_peer(const connection_options& options, const adverb::endpoint& ours)
      : ours_{ours}, is_client_{options.is_client()}, tcp_{connect_to_peer(options)} {
    std::printf("  local address:  %s\n", adverb::to_string(ours_).c_str());
    if (is_client_) send_line();
    theirs_ = receive_line();
    std::printf("  remote address: %s\n", adverb::to_string(theirs_).c_str());
    if (theirs_.gid.is_empty() && !ours.gid.is_empty() && ours.lid == adverb::lid{})
      throw std::runtime_error{
          "the peer announced no GID, which this link needs: give it the option -g"};
  }

  [[nodiscard]] const adverb::endpoint& endpoint() const noexcept { return theirs_; }

  /// Tells the peer that our queue pair can receive, and waits until it says the same.
  void ready() const {
    if (is_client_) {
      tcp_.send(std::as_bytes(std::span{done}));
      return;
    }
    send_line();
    std::array<char, done.size()> answer{};
    tcp_.receive(std::as_writable_bytes(std::span{answer}));
    if (answer != done)
      throw std::runtime_error{"the peer did not say \"done\"; is it a ping-pong program?"};
  }

 private:
  static constexpr std::array<char, 5> done{'d', 'o', 'n', 'e', '\0'};

  void send_line() const {
    const pingpong_line line = line_of(ours_);
    tcp_.send(std::as_bytes(std::span{line}));
  }

  [[nodiscard]] adverb::endpoint receive_line() const {
    pingpong_line line{};
    tcp_.receive(std::as_writable_bytes(std::span{line}));
    return endpoint_of(line);
  }

  adverb::endpoint ours_;
  bool is_client_;
  tcp_connection tcp_;
  adverb::endpoint theirs_;
};

}  // namespace examples
