// SPDX-License-Identifier: MIT
// Connects two ping-pong programs. The client sends its addresses first. The server answers when
// its queue pairs can receive, and the client sends "done" when its own can, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/connect_to_peer.hpp"
#include "common/pingpong_line.hpp"

namespace examples {

/// A peer with as many queue pairs as this side.
class pingpong_peers {
 public:
  /// Connects to the peer and receives its addresses. Each side sends `lines` of them, with zeros
  /// for the lines without a queue pair.
  pingpong_peers(const connection_options& options, std::vector<adverb::endpoint> ours,
                 std::size_t lines)
      : ours_{std::move(ours)},
        lines_{lines},
        is_client_{options.is_client()},
        tcp_{connect_to_peer(options)} {
    for (const adverb::endpoint& end : ours_)
      std::printf("  local address:  %s\n", adverb::to_string(end).c_str());
    if (is_client_) send_lines();
    receive_lines();
  }

  /// Returns one address for each local queue pair.
  [[nodiscard]] std::span<const adverb::endpoint> endpoints() const noexcept { return theirs_; }

  /// Reports to the peer that the local queue pairs can receive, and waits for its report.
  void ready() const {
    if (is_client_) {
      tcp_.send(std::as_bytes(std::span{done}));
      return;
    }
    send_lines();
    std::array<char, done.size()> answer{};
    tcp_.receive(std::as_writable_bytes(std::span{answer}));
    if (answer != done)
      throw std::runtime_error{"the peer did not send \"done\"; is it a ping-pong program?"};
  }

 private:
  static constexpr std::array<char, 5> done{'d', 'o', 'n', 'e', '\0'};

  void send_lines() const {
    for (std::size_t index = 0; index < lines_; ++index) {
      const pingpong_line line = line_of(index < ours_.size() ? ours_[index] : adverb::endpoint{});
      tcp_.send(std::as_bytes(std::span{line}));
    }
  }

  void receive_lines() {
    for (std::size_t index = 0; index < lines_; ++index) {
      pingpong_line line{};
      tcp_.receive(std::as_writable_bytes(std::span{line}));
      const adverb::endpoint end = endpoint_of(line);
      if (index < ours_.size()) take(end);
    }
  }

  void take(const adverb::endpoint& end) {
    std::printf("  remote address: %s\n", adverb::to_string(end).c_str());
    const adverb::endpoint& own = ours_[theirs_.size()];
    if (end.number == adverb::qp_number{} && !theirs_.empty())
      throw std::runtime_error{"the peer has " + std::to_string(theirs_.size()) +
                               " queue pairs, not " + std::to_string(ours_.size()) +
                               ": give both sides the same number"};
    if (end.gid.is_empty() && !own.gid.is_empty() && own.lid == adverb::lid{})
      throw std::runtime_error{
          "the peer announced no GID, which this link needs: give it the option -g"};
    theirs_.push_back(end);
  }

  std::vector<adverb::endpoint> ours_;
  std::vector<adverb::endpoint> theirs_{};
  std::size_t lines_;
  bool is_client_;
  tcp_connection tcp_;
};

/// A peer with one queue pair.
class pingpong_peer {
 public:
  pingpong_peer(const connection_options& options, const adverb::endpoint& ours)
      : peers_{options, {ours}, 1} {}

  [[nodiscard]] const adverb::endpoint& endpoint() const noexcept {
    return peers_.endpoints().front();
  }
  void ready() const { peers_.ready(); }

 private:
  pingpong_peers peers_;
};

}  // namespace examples
