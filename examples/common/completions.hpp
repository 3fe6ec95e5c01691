// SPDX-License-Identifier: MIT
// Waits for completions one after the other, polling or asleep, and never without a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>

#include "common/patience.hpp"

namespace examples {

class completions {
 public:
  /// Makes a completion queue for `capacity` completions. If `sleep` is true, waiting takes no
  /// processor time.
  completions(adverb::context_ref device, std::size_t capacity, bool sleep) {
    if (sleep) channel_ = adverb::completion_channel{device};
    queue_ = adverb::completion_queue{device, capacity, {.channel = channel_}};
  }

  [[nodiscard]] adverb::completion_queue_ref queue() const noexcept { return queue_; }

  /// Blocks until there is a completion, without a limit.
  void wait_for_first() { first_ = queue_.next(); }

  /// Returns the next completion. Throws if it is no success, or if none arrives in time.
  adverb::completion next() {
    const adverb::completion found = first_ ? *std::exchange(first_, std::nullopt) : wait();
    found.check();
    return found;
  }

 private:
  adverb::completion wait() {
    adverb::failure why;
    const adverb::completion found = queue_.next(patience, why);
    if (why.code() == std::errc::timed_out)
      throw std::runtime_error{"no completion arrived for " + std::to_string(patience.count()) +
                               " seconds: the peer is gone, has other arguments, or lost a "
                               "message"};
    if (why) throw adverb::error{why};
    return found;
  }

  adverb::completion_channel channel_;
  adverb::completion_queue queue_;
  std::optional<adverb::completion> first_;
};

}  // namespace examples
