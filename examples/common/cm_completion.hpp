// SPDX-License-Identifier: MIT
// Completions of a connection, waited for asleep, and not longer than the connection lasts.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/patience.hpp"

namespace examples {

/// The next completion on a queue of the connection, which has a channel of its own. Nothing when
/// the peer has ended the connection; what came before that is handed out first. Throws when the
/// completion is no success, and when nothing comes in time.
template <adverb::transport Transport>
[[nodiscard]] std::optional<adverb::completion> next_completion(
    adverb::cm::connection<Transport>& connection, adverb::completion_queue_ref queue,
    adverb::timeout limit = patience) {
  std::array<adverb::completion, 1> one;
  if (connection.wait(queue, one, limit).empty()) {
    if (connection.has_ended()) return std::nullopt;
    throw std::runtime_error{"no completion arrived for " + std::to_string(patience.count()) +
                             " seconds: the peer is gone, or waits for something else"};
  }
  // iWARP ends the requests that are left before the connection tells of its end.
  if (one[0].status() == adverb::completion_status::flushed) return std::nullopt;
  one[0].check();
  return one[0];
}

/// The same for who needs it: that the peer has ended the connection is thrown as well.
template <adverb::transport Transport>
adverb::completion needed_completion(adverb::cm::connection<Transport>& connection,
                                     adverb::completion_queue_ref queue) {
  const auto found = next_completion(connection, queue);
  if (!found) throw std::runtime_error{"the peer ended the connection; see its error message"};
  return *found;
}

}  // namespace examples
