// SPDX-License-Identifier: MIT
// The other side, over TCP: texts, and the addresses of queue pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <adverb/queue/endpoint.hpp>

#include "common/connect_to_peer.hpp"
#include "interruption.hpp"

namespace perf {

class peer {
 public:
  explicit peer(const examples::connection_options& options)
      : tcp_{examples::connect_to_peer(options)} {}

  /// Sends a text. Its length goes first, in four bytes, the lowest one first.
  void say(const std::string& text) const {
    std::array<std::byte, 4> length{};
    for (std::size_t index = 0; index < length.size(); ++index)
      length[index] = static_cast<std::byte>(text.size() >> (8 * index));
    tcp_.send(length);
    tcp_.send(std::as_bytes(std::span{text}));
  }

  [[nodiscard]] std::string hear() const {
    const auto length = tcp_.receive<4>();
    std::size_t size = 0;
    for (std::size_t index = 0; index < length.size(); ++index)
      size |= std::to_integer<std::size_t>(length[index]) << (8 * index);
    if (size > longest_text)
      throw std::runtime_error{"the peer does not talk as this program does; is it adverb_perf?"};
    std::string text(size, '\0');
    tcp_.receive(std::as_writable_bytes(std::span{text}));
    return text;
  }

  /// Returns whether the peer has sent something, or is gone.
  [[nodiscard]] bool has_spoken() const { return tcp_.has_message(); }

  /// Waits until the peer sends something, without a limit.
  void wait() const {
    while (!tcp_.has_message(-1)) interruption::throw_if_requested();
  }

  /// Exchanges a value of fixed size for each queue pair with the peer.
  template <class Value>
  [[nodiscard]] std::vector<Value> exchange(const std::vector<Value>& ours) const {
    // By turns: a socket does not hold those of thousands of pairs.
    std::vector<Value> theirs;
    for (const Value& each : ours) {
      tcp_.send(each.encode());
      theirs.push_back(Value::decode(tcp_.receive<Value::encoded_size>()));
    }
    return theirs;
  }

  /// Returns when the peer has come to this point, too.
  void synchronize() const { tcp_.synchronize(); }

 private:
  static constexpr std::size_t longest_text = 65536;

  examples::tcp_connection tcp_;
};

}  // namespace perf
