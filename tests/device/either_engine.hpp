// SPDX-License-Identifier: MIT
// Connected queue pairs over completion queues of either engine, and what takes completions off
// them, for tests that are the same for both.
#pragma once

#include <chrono>

#include <adverb/adverb.hpp>

#include "support.hpp"

inline constexpr std::chrono::seconds long_enough{10};

// Completions are taken one at a time: see loses_place in support/device_facts.hpp.

/// Calls `look` with the next completion of a queue; fails the test when none comes.
template <adverb::completion_source Queue, class Look>
void take(const Queue& queue, const Look& look) {
  REQUIRE(queue.busy_poll(adverb::up_to<1>, look, long_enough) == 1);
}

/// The same for a request that must succeed, of which nothing else matters.
template <adverb::completion_source Queue>
void take_success(const Queue& queue) {
  take(queue, [](const auto& completion) { completion.check(); });
}

/// Waits for the next completion on the channel of the queue.
template <adverb::completion_source Queue, class Look>
void wait_for(const Queue& queue, const Look& look) {
  REQUIRE(queue.wait(adverb::up_to<1>, look, long_enough) == 1);
}

/// Two pairs that talk to each other, each with a queue of this engine and a channel of its own.
template <adverb::transport Transport, class Queue>
struct queue_link : loopback<Transport, Queue> {
  explicit queue_link(const adverb::completion_queue_options& options = {})
      : loopback<Transport, Queue>(
            loopback_options<Transport>{.with_channels = true, .queue = options}) {}
};
