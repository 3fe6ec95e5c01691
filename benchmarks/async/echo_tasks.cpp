// SPDX-License-Identifier: MIT
// The echo with tasks on an event loop.
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>

#include "common.h"
#include "echo.hpp"

namespace {

namespace async = adverb::async;

async::task<> serve(async::connection client, server_clock& clock) {
  while (const async::message message = co_await client.next()) {
    count_message(&clock);
    co_await client.send(message.buffer());
  }
  co_await client.disconnect();
}

async::task<> serve_all(async::event_loop& loop, async::listener& listener, const job& given,
                        server_clock& clock) {
  for (std::size_t each = 0; each < given.connections; ++each)
    loop.spawn(serve(co_await listener.accept(echo::options), clock));
}

async::task<> ask(echo::client& server, std::size_t messages) {
  for (std::size_t each = 0; each < messages; ++each) {
    co_await server.connection.send(server.region.buffer());
    const async::message answer = co_await server.connection.next();
    echo::check(answer);
  }
}

async::task<> connect(async::event_loop& loop, const job& given,
                      std::vector<std::unique_ptr<echo::client>>& servers) {
  auto connected = co_await async::connect(loop, echo::address_of(given), echo::options);
  servers.push_back(std::make_unique<echo::client>(std::move(connected)));
}

async::task<> end(echo::client& server) { co_await server.connection.disconnect(); }

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  async::event_loop loop{echo::loop_options_of(given)};
  if (given.is_server) {
    async::listener listener{loop, echo::address_of(given)};
    std::puts("ready");
    std::fflush(stdout);
    server_clock clock = server_clock_of(&given);
    loop.spawn(serve_all(loop, listener, given, clock));
    loop.run();
    report_server(&clock);
    return 0;
  }
  std::vector<std::unique_ptr<echo::client>> servers;
  for (std::size_t each = 0; each < given.connections; ++each) {
    loop.spawn(connect(loop, given, servers));
    loop.run();
  }
  const auto run_all = [&](std::size_t messages) {
    for (const auto& each : servers) loop.spawn(ask(*each, messages));
    loop.run();
  };
  run_all(unmeasured);
  const double begin = microseconds();
  run_all(given.messages);
  report_client(&given, begin, microseconds());
  for (const auto& each : servers) loop.spawn(end(*each));
  loop.run();
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
