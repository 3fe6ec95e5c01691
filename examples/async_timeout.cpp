// SPDX-License-Identifier: MIT
// Deadlines and cancelled waits. The client sends a request to several servers at once: the first
// answer cancels the other requests, and a server that does not answer in time ends the client with
// ETIMEDOUT. A server ends a connection that is silent for too long.
//
//     async_timeout                              # a server
//     async_timeout --port 7472 --mute           # a server that never answers
//     async_timeout 10.1.0.1 --ports 7471,7472   # the client
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"

namespace {

namespace async = adverb::async;
namespace cm = adverb::cm;

struct timeout_options : examples::cm_options {
  std::vector<std::uint32_t> ports{7471};
  std::uint32_t patience = 1000;
  std::uint32_t idle = 10000;
  bool mute = false;
};

async::task<> serve(async::connection_request request, const timeout_options& options) try {
  const std::chrono::milliseconds longest_silence{options.idle};
  const async::connection client = co_await request.accept();
  client.expires_after(longest_silence);
  while (const async::message question = co_await client.next()) {
    if (!options.mute) co_await client.send(question.buffer());
    client.expires_after(longest_silence);
  }
} catch (const adverb::error& failed) {
  // The client is silent, or has disconnected. The other clients stay connected.
  std::fprintf(stderr, "async_timeout: %s\n", failed.what());
}

async::task<> listen(async::event_loop& loop, const timeout_options& options) {
  async::listener listener{loop, cm::socket_address::any(options.port)};
  std::printf("listening on port %d\n", listener.port());
  while (true) loop.spawn(serve(co_await listener.next(), options));
}

async::task<> connect(async::event_loop& loop, const timeout_options& options,
                      std::vector<async::connection>& servers) {
  for (const std::uint32_t port : options.ports)
    servers.push_back(co_await async::connect(
        loop, options.server, static_cast<std::uint16_t>(port), {.max_inline_data = 16}));
}

async::task<> ask(const std::vector<async::connection>& servers, std::size_t which,
                  const timeout_options& options) try {
  const async::connection& server = servers[which];
  const std::string_view question = "are you there?";
  server.expires_after(std::chrono::milliseconds{options.patience});
  co_await server.send(adverb::inline_data{question});
  if (!co_await server.next()) throw std::runtime_error{"the server ended the connection"};
  std::printf("the server on port %u answered\n", options.ports[which]);
  for (const async::connection& other : servers)
    if (&other != &server) other.cancel();
} catch (const adverb::error& failed) {
  if (failed.code() != std::errc::operation_canceled) throw;
  std::printf("the server on port %u: %s\n", options.ports[which], failed.what());
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Queries several servers and uses the first answer, or runs such a server.", "async_timeout"};
  timeout_options options;
  options.add_server_to(arguments,
                        "Connect to the servers on this host; without it, run as a server");
  options.add_port_to(arguments);
  arguments.add_numbers("--ports", options.ports, 1, 65535, "Ports of the servers to query");
  arguments.add_number("--patience", options.patience, 1, 3600000,
                       "Milliseconds within which the client needs an answer");
  arguments.add_number("--idle", options.idle, 1, 3600000,
                       "Milliseconds of silence after which the server ends a connection");
  arguments.add_flag("--mute", options.mute, "Do not answer");
  return examples::run(arguments, argc, argv, [&] {
    async::event_loop loop;
    if (!options.is_client()) examples::run_until_interrupted(loop, listen(loop, options));
    std::vector<async::connection> servers;
    loop.spawn(connect(loop, options, servers));
    loop.run();
    for (std::size_t each = 0; each < servers.size(); ++each)
      loop.spawn(ask(servers, each, options));
    loop.run();
  });
}
