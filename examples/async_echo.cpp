// SPDX-License-Identifier: MIT
// A server that sends back what it receives, and its clients, any number on one thread: each
// connection is a task. async_echo_asio is the same program with Asio.
//
//     async_echo                           # the server, until Ctrl-C
//     async_echo 10.1.0.1 --clients 64     # 64 clients
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>

#include "common/async_server.hpp"
#include "common/async_text.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/patience.hpp"

namespace {

namespace async = adverb::async;
namespace cm = adverb::cm;

constexpr int rounds = 10;
/// Enough for 300 connections where the device cannot enlarge its queue, such as soft-iWARP.
constexpr async::device_loop_options loop_options{.completions = 20000};

async::task<> serve(async::connection_request request) try {
  const async::connection client = co_await request.accept();
  while (const async::message message = co_await client.next())
    co_await client.send(message.buffer());
} catch (const adverb::error& failed) {
  // The client has disconnected. The other clients stay connected.
  std::fprintf(stderr, "async_echo: %s\n", failed.what());
}

async::task<> listen(async::event_loop& loop, std::uint16_t port) {
  async::listener listener{loop, cm::socket_address::any(port)};
  std::printf("listening on port %d\n", listener.port());
  while (true) loop.spawn(serve(co_await listener.next()));
}

async::task<> ask(async::event_loop& loop, cm::socket_address address, std::uint32_t number) {
  const async::connection server = co_await async::connect(
      loop, address, {.max_inline_data = 64, .dead_after = examples::longest_silence});
  for (int round = 0; round < rounds; ++round) {
    const std::string text =
        "message " + std::to_string(round) + " of client " + std::to_string(number);
    co_await server.send(adverb::inline_data{text});
    const async::message echo = co_await server.next();
    if (examples::text_of(echo) != text)
      throw std::runtime_error{"the server did not echo: " + text};
  }
  co_await server.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Echoes the messages of clients, or is any number of clients of such a server.",
      "async_echo"};
  examples::cm_options options;
  std::uint32_t clients = 1;
  options.add_server_to(arguments,
                        "Connect to the server on this host; without it, run as the server");
  options.add_port_to(arguments);
  arguments.add_number("-c,--clients", clients, 1, 4096, "Number of clients");
  return examples::run(arguments, argc, argv, [&] {
    async::event_loop loop{loop_options};
    if (options.is_client()) {
      const cm::address_list server{options.server, options.port};
      for (std::uint32_t each = 0; each < clients; ++each)
        loop.spawn(ask(loop, server.front().destination(), each));
      loop.run();
      std::printf("%u clients received %d echoes each\n", clients, rounds);
    } else {
      examples::run_until_interrupted(loop, listen(loop, options.port));
    }
  });
}
