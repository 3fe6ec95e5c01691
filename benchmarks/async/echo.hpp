// SPDX-License-Identifier: MIT
// Shared by the programs with tasks and with Asio.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>

#include "common.h"

namespace echo {

inline constexpr adverb::async::connection_options options{
    .max_send_wr = depth, .receives = depth, .block_size = block_size};

inline adverb::cm::socket_address address_of(const job& given) {
  const auto address = adverb::cm::socket_address::parse(given.address, given.port);
  if (!address) throw std::runtime_error{std::string{given.address} + " is no address"};
  return *address;
}

/// Returns the options of the loop. Its completion queue does not grow.
inline adverb::async::device_loop_options loop_options_of(const job& given) {
  return {.waiting = given.is_busy ? adverb::async::waiting::busy : adverb::async::waiting::events,
          .completions = 2 * depth * given.connections};
}

/// A connection of a client, and the message that it sends.
struct client {
  explicit client(adverb::async::connection&& made) : connection{std::move(made)} {}

  adverb::async::connection connection;
  std::array<std::byte, message_size> bytes{};
  adverb::memory_region region{connection.protection_domain(), bytes,
                               adverb::access_right::local_write};
};

inline void check(const adverb::async::message& answer) {
  if (answer.bytes().size() != message_size) throw std::runtime_error{"the answer is no echo"};
}

}  // namespace echo
