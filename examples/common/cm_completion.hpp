// SPDX-License-Identifier: MIT
// Waits for the completions of a connection without polling, and no longer than the connection
// lasts.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/patience.hpp"

namespace examples {

/// Returns the next completion on a queue of the connection, which has a channel of its own.
/// Returns nothing if the peer has ended the connection and no completion is left. Throws if the
/// completion is no success, or if none comes in time.
template <adverb::transport Transport>
[[nodiscard]] std::optional<adverb::completion> next_completion(
    adverb::cm::connection<Transport>& connection, adverb::completion_queue_ref queue,
    std::chrono::seconds limit = patience) {
  std::array<adverb::completion, 1> one;
  if (connection.wait(queue, one, limit).empty()) {
    if (connection.has_ended()) return std::nullopt;
    throw std::runtime_error{"no completion arrived for " + std::to_string(limit.count()) +
                             " seconds: the peer is gone, or waits for something else"};
  }
  // iWARP flushes the requests that are left before the connection reports its end.
  if (one[0].status() == adverb::completion_status::flushed) return std::nullopt;
  one[0].check();
  return one[0];
}

/// The same, but throws if the peer has ended the connection.
template <adverb::transport Transport>
adverb::completion needed_completion(adverb::cm::connection<Transport>& connection,
                                     adverb::completion_queue_ref queue) {
  const auto found = next_completion(connection, queue);
  if (!found) throw std::runtime_error{"the peer ended the connection; see its error message"};
  return *found;
}

}  // namespace examples
