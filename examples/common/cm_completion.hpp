// SPDX-License-Identifier: MIT
// Completions of a connection, waited for asleep, and not longer than the connection lasts.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/patience.hpp"
#include "common/tcp_address.hpp"

namespace examples {

/// Waits for whichever comes first: an event of the completion queue, or one of the connection.
/// True when there is one of the connection, false and a look at the queue is due otherwise.
template <adverb::transport Transport>
[[nodiscard]] bool connection_has_event(const adverb::cm::connection<Transport>& connection,
                                        adverb::completion_queue_ref queue,
                                        std::chrono::milliseconds limit) {
  std::array<pollfd, 2> files{
      pollfd{.fd = queue.channel().file_descriptor(), .events = POLLIN, .revents = 0},
      pollfd{.fd = connection.file_descriptor(), .events = POLLIN, .revents = 0}};
  const int count = ::poll(files.data(), files.size(), static_cast<int>(limit.count()));
  if (count < 0 && errno != EINTR) throw network_error("cannot wait for the peer", errno);
  if (count == 0)
    throw std::runtime_error{"nothing came from the peer for " + std::to_string(patience.count()) +
                             " seconds: it is gone, or waits for something else"};
  return count > 0 && files[1].revents != 0;
}

/// For whom it does not matter how long the peer takes.
inline constexpr std::chrono::milliseconds for_ever{-1};

/// The next completion on a queue of the connection, which has a channel of its own. Nothing when
/// the peer has ended the connection; what came before that is handed out first. Throws when the
/// completion is no success, and when nothing comes in time.
template <adverb::transport Transport>
[[nodiscard]] std::optional<adverb::completion> next_completion(
    adverb::cm::connection<Transport>& connection, adverb::completion_queue_ref queue,
    std::chrono::milliseconds limit = patience) {
  std::array<adverb::completion, 1> one;
  for (bool ended = false;; ended = connection_has_event(connection, queue, limit)) {
    // Without waiting, but what comes next gives an event.
    if (!queue.wait(one, std::chrono::seconds{0}).empty()) {
      // iWARP ends the requests that are left before the connection tells of its end.
      if (one[0].status() == adverb::completion_status::flushed) return std::nullopt;
      one[0].check();
      return one[0];
    }
    if (!ended) continue;
    const auto event = connection.next_event();
    if (!event) continue;
    if (event->type() == adverb::cm::event_type::disconnected) return std::nullopt;
    if (event->type() == adverb::cm::event_type::device_removal)
      throw std::runtime_error{"the RDMA device was removed"};
  }
}

/// The same for who needs it: that the peer has ended the connection is thrown as well.
template <adverb::transport Transport>
adverb::completion needed_completion(adverb::cm::connection<Transport>& connection,
                                     adverb::completion_queue_ref queue) {
  const auto found = next_completion(connection, queue);
  if (!found) throw std::runtime_error{"the peer ended the connection; see what it complains of"};
  return *found;
}

}  // namespace examples
