// SPDX-License-Identifier: MIT
// Shared by the programs with tasks and with Asio.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/messages.hpp>

#include "common.h"

namespace echo {

inline adverb::cm::socket_address address_of(const job& given) {
  const auto address = adverb::cm::socket_address::parse(given.address, given.port);
  if (!address) throw std::runtime_error{std::string{given.address} + " is no address"};
  return *address;
}

/// Returns the options of the loop. Its completion queue does not grow.
inline adverb::async::device_loop_options loop_options_of(const job& given) {
  return {.waiting = given.is_busy ? adverb::async::waiting::busy : adverb::async::waiting::events,
          .completions = given.channels * requests_of(&given)};
}

inline adverb::messages::channel_options options_of(const job& given) {
  constexpr std::chrono::milliseconds patience{patience_milliseconds};
  return {.over = adverb::messages::network::rdma,
          .receives = given.receives,
          .block_size = given.block_size,
          .max_frames = given.receives,
          .dead_after = patience,
          .connect_timeout = patience,
          .close_timeout = patience};
}

/// A channel, the memory of its messages, and the number of messages.
struct side {
  side(adverb::messages::channel&& made, const job& given) : channel{std::move(made)} {
    for (std::size_t each = 0; each < at_once(&given); ++each)
      memory.push_back(channel.memory(given.size));
  }

  adverb::messages::channel channel;
  std::vector<adverb::async::loop_memory> memory;
  std::size_t count = 0;
};

inline void check(const adverb::messages::incoming& answer, std::size_t size) {
  if (answer.size() != size) throw std::runtime_error{"the answer has another size"};
}

}  // namespace echo
