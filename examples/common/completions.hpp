// SPDX-License-Identifier: MIT
// Waits for completions one after the other, polling or asleep, and never without a limit.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include <poll.h>

#include <adverb/adverb.hpp>

#include "common/patience.hpp"

namespace examples {

class completions {
 public:
  /// Makes a completion queue for `capacity` completions. If `sleep` is true, waiting takes no
  /// processor time.
  completions(adverb::context_ref device, std::size_t capacity, bool sleep) {
    if (sleep) {
      channel_ = adverb::completion_channel{device};
      channel_.set_non_blocking(true);
    }
    queue_ = adverb::completion_queue{device, capacity, {.channel = channel_}};
  }

  [[nodiscard]] adverb::completion_queue_ref queue() const noexcept { return queue_; }

  /// Sleeps until there is a completion, without a limit. Requires `sleep`.
  void wait_for_first() { found_ = sleep(for_ever); }

  /// Returns the next completion. Throws if it is no success.
  adverb::completion next() {
    constexpr int limit = std::chrono::milliseconds{patience}.count();
    if (found_.empty()) found_ = channel_ ? sleep(limit) : poll();
    const adverb::completion first = found_.front();
    found_ = found_.subspan(1);
    first.check();
    return first;
  }

 private:
  using clock = std::chrono::steady_clock;

  static constexpr int for_ever = -1;

  std::span<adverb::completion> sleep(int milliseconds) {
    // On a non-blocking channel, wait() may return nothing although an event is sure to follow.
    for (pollfd channel{.fd = channel_.file_descriptor(), .events = POLLIN, .revents = 0};;) {
      const std::span<adverb::completion> found = queue_.wait(batch_);
      if (!found.empty()) return found;
      if (::poll(&channel, 1, milliseconds) == 0) give_up();
    }
  }

  std::span<adverb::completion> poll() {
    // Reading the clock costs more than polling the queue.
    constexpr int polls_between_looks = 10'000;
    std::optional<clock::time_point> end;
    while (true) {
      for (int count = 0; count < polls_between_looks; ++count) {
        const std::span<adverb::completion> found = queue_.poll(batch_);
        if (!found.empty()) return found;
      }
      const clock::time_point now = clock::now();
      if (!end) end = now + patience;
      if (now > *end) give_up();
    }
  }

  [[noreturn]] static void give_up() {
    throw std::runtime_error{"no completion arrived for " + std::to_string(patience.count()) +
                             " seconds: the peer is gone, has other arguments, or lost a message"};
  }

  adverb::completion_channel channel_;
  adverb::completion_queue queue_;
  std::array<adverb::completion, 16> batch_;
  std::span<adverb::completion> found_;
};

}  // namespace examples
