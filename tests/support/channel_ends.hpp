// SPDX-License-Identifier: MIT
// Shared by the tests of channels: the two ends of one, over the network of the suite.
#pragma once

#include <chrono>
#include <cstdint>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

namespace channel_test {

using namespace adverb;

// Each suite defines these before it includes this header.

/// Returns the network of the channels.
[[nodiscard]] messages::network network_of_suite() noexcept;
/// Returns the address at which listeners listen.
[[nodiscard]] cm::socket_address listening_address();
/// Returns the address of a listener with this port.
[[nodiscard]] cm::socket_address address_of(std::uint16_t port);

/// Breaks the link of a channel, as a failure of the network does.
void break_link(const messages::channel& of);

/// For peers that always answer, however slow the machine is.
[[nodiscard]] inline messages::channel_options few_receives() noexcept {
  return {.over = network_of_suite(),
          .receives = 8,
          .block_size = 256,
          .max_frames = 8,
          .connect_timeout = std::chrono::seconds{30},
          .close_timeout = std::chrono::seconds{50}};
}

/// A loop with a listener, and two channels.
struct both_ends {
  explicit both_ends(const messages::channel_options& connecting = few_receives(),
                     const messages::channel_options& accepting = few_receives(),
                     const async::device_loop_options& of_loop = {})
      : client_options{connecting}, loop{of_loop}, listener{loop, listening_address(), accepting} {}

  /// Returns the address of the listener.
  [[nodiscard]] cm::socket_address address() const { return address_of(listener.port()); }
  /// Runs a task on each end until nothing is left to do.
  template <class Client, class Server>
  void run(const Client& client, const Server& server) {
    loop.spawn([&]() -> async::task<> {
      messages::channel accepted = co_await listener.accept();
      co_await server(accepted);
    });
    loop.spawn([&]() -> async::task<> {
      messages::channel connected = co_await messages::connect(loop, address(), client_options);
      co_await client(connected);
    });
    loop.run();
  }

  messages::channel_options client_options;
  async::event_loop loop;
  messages::listener listener;
};

}  // namespace channel_test
