// SPDX-License-Identifier: MIT
// The exchange of messages in a ping-pong.
#pragma once

#include <concepts>
#include <cstdint>

#include "common/completions.hpp"

namespace examples {

/// Sends and receives `rounds` messages in turn. One side begins with a send, the other with a
/// receive. `send` is called for each message to post, `receive` to post another receive for each
/// one that was used.
void rally(completions& events, std::uint32_t rounds, bool serves, const std::invocable auto& send,
           const std::invocable auto& receive) {
  std::uint32_t posted = 0;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  while (sent < rounds || received < rounds) {
    // The answer to a message may arrive before the completion of its send.
    const bool is_our_turn = sent == posted && received == (serves ? posted : posted + 1);
    if (is_our_turn && posted < rounds) {
      send();
      ++posted;
    }
    if (events.next().success().receive()) {
      ++received;
      receive();
    } else {
      ++sent;
    }
  }
}

}  // namespace examples
