// SPDX-License-Identifier: MIT
// Shared by the tests of channels: the two ends of one.
#pragma once

#include <chrono>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "cm/async_side.hpp"

namespace async_test {

/// For peers that always answer, however slow the machine is.
inline constexpr messages::channel_options few{.receives = 8,
                                               .block_size = 256,
                                               .max_frames = 8,
                                               .connect_timeout = std::chrono::seconds{30},
                                               .close_timeout = std::chrono::seconds{50}};

/// Two channels of one loop.
struct both_ends {
  explicit both_ends(messages::channel_options connecting = few,
                     messages::channel_options accepting = few)
      : client_options{connecting}, server_options{accepting} {}

  /// Runs a task on each end until nothing is left to do.
  template <class Client, class Server>
  void run(const Client& client, const Server& server) {
    here.loop.spawn([&]() -> async::task<> {
      messages::channel accepted = co_await messages::accept(here.listener, server_options);
      co_await server(accepted);
    });
    here.loop.spawn([&]() -> async::task<> {
      messages::channel connected =
          co_await messages::connect(here.loop, here.address(), client_options);
      co_await client(connected);
    });
    here.run();
  }

  side here;
  messages::channel_options client_options;
  messages::channel_options server_options;
};

}  // namespace async_test
