// SPDX-License-Identifier: MIT
// Messages there and back, or one way, with coroutines of Asio. Tasks connect and accept.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <adverb/messages.hpp>

#include "common.h"
#include "echo.hpp"

namespace {

namespace async = adverb::async;
namespace messages = adverb::messages;
constexpr auto wait = asio::use_awaitable;

template <class Coroutine>
void spawn(asio::io_context& context, Coroutine&& started) {
  asio::co_spawn(context, std::forward<Coroutine>(started), [](const std::exception_ptr& why) {
    if (why) std::rethrow_exception(why);
  });
}

asio::awaitable<void> echo_all(echo::side& client, server_clock& clock) {
  adverb::mutable_buffer memory = client.memory[0].buffer();
  while (messages::incoming got = co_await client.channel.next()(wait)) {
    count_message(&clock);
    if (!got.is_offer()) {
      co_await client.channel.send(got.bytes())(wait);
      continue;
    }
    co_await got.receive_into(memory)(wait);
    got = {};
    co_await client.channel.send(memory)(wait);
  }
}

asio::awaitable<void> take_all(echo::side& client, adverb::mutable_buffer memory,
                               server_clock& clock) {
  while (messages::incoming got = co_await client.channel.next()(wait)) {
    if (got.is_offer()) co_await got.receive_into(memory)(wait);
    count_message(&clock);
    if (ends_phase(clock.job, ++client.count))
      co_await client.channel.send(memory.slice(0, end_size))(wait);
  }
}

async::task<> serve_all(asio::io_context& context, messages::listener& listener,
                        std::vector<std::unique_ptr<echo::side>>& clients, server_clock& clock) {
  const job& given = *clock.job;
  for (std::size_t each = 0; each < given.channels; ++each) {
    clients.push_back(std::make_unique<echo::side>(co_await listener.accept(), given));
    if (!given.is_one_way)
      spawn(context, echo_all(*clients.back(), clock));
    else
      for (auto& memory : clients.back()->memory)
        spawn(context, take_all(*clients.back(), memory.buffer(), clock));
  }
}

asio::awaitable<void> ask(echo::side& server, const job& given, std::size_t times) {
  adverb::mutable_buffer memory = server.memory[0].buffer();
  const bool is_long = is_offered(&given);
  for (std::size_t each = 0; each < times; ++each) {
    if (is_long)
      co_await server.channel.send(memory)(wait);
    else
      co_await server.channel.send(server.memory[0].bytes())(wait);
    messages::incoming answer = co_await server.channel.next()(wait);
    if (answer.is_offer()) co_await answer.receive_into(memory)(wait);
    echo::check(answer, given.size);
  }
}

asio::awaitable<void> send_all(echo::side& server, std::size_t which, const job& given,
                               std::size_t times) {
  const bool is_long = is_offered(&given);
  for (std::size_t each = which; each < times; each += at_once(&given)) {
    if (is_long)
      co_await server.channel.send(server.memory[which].buffer())(wait);
    else
      co_await server.channel.send(server.memory[which].bytes())(wait);
  }
}

asio::awaitable<void> take_answer(echo::side& server) {
  const messages::incoming answer = co_await server.channel.next()(wait);
  echo::check(answer, end_size);
}

async::task<> connect(async::device_loop& loop, const job& given,
                      std::vector<std::unique_ptr<echo::side>>& servers) {
  servers.push_back(std::make_unique<echo::side>(
      co_await messages::connect(loop, echo::address_of(given), echo::options_of(given)), given));
}

asio::awaitable<void> end(echo::side& server) { co_await server.channel.close()(wait); }

void run(asio::io_context& context) {
  context.restart();
  context.run();
}

void run_server(asio::io_context& context, async::device_loop& loop, const job& given) {
  messages::listener listener{loop, echo::address_of(given), echo::options_of(given)};
  std::puts("ready");
  std::fflush(stdout);
  server_clock clock = server_clock_of(&given);
  std::vector<std::unique_ptr<echo::side>> clients;
  loop.spawn(serve_all(context, listener, clients, clock));
  run(context);
  clients.clear();
  run(context);
  report_server(&clock);
}

void run_client(asio::io_context& context, async::device_loop& loop, const job& given) {
  std::vector<std::unique_ptr<echo::side>> servers;
  for (std::size_t each = 0; each < given.channels; ++each) {
    loop.spawn(connect(loop, given, servers));
    run(context);
  }
  const auto run_phase = [&](std::size_t times) {
    for (const auto& each : servers) {
      if (!given.is_one_way) {
        spawn(context, ask(*each, given, times));
        continue;
      }
      for (std::size_t which = 0; which < at_once(&given); ++which)
        spawn(context, send_all(*each, which, given, times));
      spawn(context, take_answer(*each));
    }
    run(context);
  };
  run_phase(unmeasured);
  begin_count();
  const double begin = microseconds();
  run_phase(given.messages);
  const double end_time = microseconds();
  end_count(&given);
  report_client(&given, begin, end_time);
  for (const auto& each : servers) spawn(context, end(*each));
  run(context);
  servers.clear();
  run(context);
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  asio::io_context context{1};
  async::device_loop& loop = async::loop_of(context, echo::loop_options_of(given));
  (given.is_server ? run_server : run_client)(context, loop, given);
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
