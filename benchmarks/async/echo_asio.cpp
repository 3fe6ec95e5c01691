// SPDX-License-Identifier: MIT
// The echo with coroutines of Asio.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>

#include "common.h"
#include "echo.hpp"

namespace {

namespace async = adverb::async;
constexpr auto wait = asio::use_awaitable;

template <class Coroutine>
void spawn(asio::io_context& context, Coroutine&& started) {
  asio::co_spawn(context, std::forward<Coroutine>(started), [](const std::exception_ptr& why) {
    if (why) std::rethrow_exception(why);
  });
}

asio::awaitable<void> serve(async::connection client, server_clock& clock) {
  while (const async::message message = co_await client.next()(wait)) {
    count_message(&clock);
    co_await client.send(message.buffer())(wait);
  }
  co_await client.disconnect()(wait);
}

asio::awaitable<void> serve_all(asio::io_context& context, async::listener& listener,
                                const job& given, server_clock& clock) {
  for (std::size_t each = 0; each < given.connections; ++each)
    spawn(context, serve(co_await listener.accept(echo::options)(wait), clock));
}

asio::awaitable<void> ask(echo::client& server, std::size_t messages) {
  for (std::size_t each = 0; each < messages; ++each) {
    co_await server.connection.send(server.region.buffer())(wait);
    const async::message answer = co_await server.connection.next()(wait);
    echo::check(answer);
  }
}

asio::awaitable<void> connect(async::device_loop& loop, const job& given,
                              std::vector<std::unique_ptr<echo::client>>& servers) {
  auto connected = co_await async::connect(loop, echo::address_of(given), echo::options)(wait);
  servers.push_back(std::make_unique<echo::client>(std::move(connected)));
}

asio::awaitable<void> end(echo::client& server) { co_await server.connection.disconnect()(wait); }

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  asio::io_context context{1};
  async::device_loop& loop = async::loop_of(context, echo::loop_options_of(given));
  const auto run = [&] {
    context.restart();
    context.run();
  };
  if (given.is_server) {
    async::listener listener{loop, echo::address_of(given)};
    std::puts("ready");
    std::fflush(stdout);
    server_clock clock = server_clock_of(&given);
    spawn(context, serve_all(context, listener, given, clock));
    run();
    report_server(&clock);
    return 0;
  }
  std::vector<std::unique_ptr<echo::client>> servers;
  for (std::size_t each = 0; each < given.connections; ++each) {
    spawn(context, connect(loop, given, servers));
    run();
  }
  const auto run_all = [&](std::size_t messages) {
    for (const auto& each : servers) spawn(context, ask(*each, messages));
    run();
  };
  run_all(unmeasured);
  const double begin = microseconds();
  run_all(given.messages);
  report_client(&given, begin, microseconds());
  for (const auto& each : servers) spawn(context, end(*each));
  run();
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
