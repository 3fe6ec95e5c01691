// SPDX-License-Identifier: MIT
// Two connected queue pairs over completion queues of either engine, for tests that are the same
// for both.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <adverb/adverb.hpp>

#include "support.hpp"

inline constexpr std::chrono::seconds long_enough{10};

// Completions are taken one at a time: see loses_its_place of extended_completion_queue.cpp.

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

/// Empties a queue and arms it, one completion at a time.
template <adverb::completion_source Queue, class Look>
void arm_and_take_all(const Queue& queue, const Look& look) {
  queue.arm_and_drain(adverb::up_to<1>, look);
}

/// Two pairs that talk to each other, each with a queue and a channel of its own.
template <adverb::transport Transport, class Queue>
class queue_link {
 public:
  struct end {
    end(adverb::context_ref context, adverb::protection_domain_ref domain,
        adverb::completion_queue_options options)
        : channel{context},
          queue{context, 64, with_channel(options)},
          region{domain, bytes, every_right} {}

    adverb::completion_queue_options with_channel(adverb::completion_queue_options options) const {
      options.channel = channel;
      return options;
    }

    std::vector<std::byte> bytes = std::vector<std::byte>(4096);
    adverb::completion_channel channel;
    Queue queue;
    adverb::memory_region region;
  };

  explicit queue_link(adverb::completion_queue_options options = {},
                      adverb::queue_pair_options pair = {.max_send_wr = 32, .max_recv_wr = 32})
      : options_{options}, pair_options_{pair} {}

 private:
  adverb::completion_queue_options options_;
  adverb::queue_pair_options pair_options_;

 public:
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  end near{context, domain, options_};
  end far{context, domain, options_};

 private:
  using waiting = adverb::queue_pair<Transport, adverb::qp_state::init>;

  [[nodiscard]] waiting make(const end& of) const {
    adverb::queue_pair_options options = pair_options_;
    options.send_cq = of.queue;
    options.recv_cq = of.queue;
    auto fresh = adverb::queue_pair<Transport>::create(domain, options);
    return initialised(fresh);
  }
  [[nodiscard]] static adverb::queue_pair<Transport> connect(waiting& pair,
                                                             const adverb::endpoint& peer) {
    if constexpr (Transport == adverb::transport::ud) {
      auto receiving = pair.rtr().apply();
      return receiving.rts().apply();
    } else {
      return pair.connect(peer);
    }
  }

  waiting near_waiting_ = make(near);
  waiting far_waiting_ = make(far);

 public:
  adverb::endpoint near_endpoint = near_waiting_.endpoint();
  adverb::endpoint far_endpoint = far_waiting_.endpoint();
  adverb::address to_far = near_waiting_.address_of(far_endpoint);
  adverb::queue_pair<Transport> near_pair = connect(near_waiting_, far_endpoint);
  adverb::queue_pair<Transport> far_pair = connect(far_waiting_, near_endpoint);
};
