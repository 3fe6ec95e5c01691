// SPDX-License-Identifier: MIT
// Messages there and back, or one way, with tasks.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/messages.hpp>

#include "common.h"
#include "echo.hpp"

namespace {

namespace async = adverb::async;
namespace messages = adverb::messages;

async::task<> echo_all(echo::side& client, server_clock& clock) {
  adverb::mutable_buffer memory = client.memory[0].buffer();
  while (messages::incoming got = co_await client.channel.next()) {
    count_message(&clock);
    if (!got.is_offer()) {
      co_await client.channel.send(got.bytes());
      continue;
    }
    co_await got.receive_into(memory);
    got = {};
    co_await client.channel.send(memory);
  }
}

async::task<> take_all(echo::side& client, adverb::mutable_buffer memory, server_clock& clock) {
  while (messages::incoming got = co_await client.channel.next()) {
    if (got.is_offer()) co_await got.receive_into(memory);
    count_message(&clock);
    if (ends_phase(clock.job, ++client.count))
      co_await client.channel.send(memory.slice(0, end_size));
  }
}

async::task<> serve_all(async::event_loop& loop, messages::listener& listener,
                        std::vector<std::unique_ptr<echo::side>>& clients, server_clock& clock) {
  const job& given = *clock.job;
  for (std::size_t each = 0; each < given.channels; ++each) {
    clients.push_back(std::make_unique<echo::side>(co_await listener.accept(), given));
    if (!given.is_one_way)
      loop.spawn(echo_all(*clients.back(), clock));
    else
      for (auto& memory : clients.back()->memory)
        loop.spawn(take_all(*clients.back(), memory.buffer(), clock));
  }
}

async::task<> ask(echo::side& server, const job& given, std::size_t times) {
  adverb::mutable_buffer memory = server.memory[0].buffer();
  const bool is_long = is_offered(&given);
  for (std::size_t each = 0; each < times; ++each) {
    if (is_long)
      co_await server.channel.send(memory);
    else
      co_await server.channel.send(server.memory[0].bytes());
    messages::incoming answer = co_await server.channel.next();
    if (answer.is_offer()) co_await answer.receive_into(memory);
    echo::check(answer, given.size);
  }
}

async::task<> send_all(echo::side& server, std::size_t which, const job& given, std::size_t times) {
  const bool is_long = is_offered(&given);
  for (std::size_t each = which; each < times; each += at_once(&given)) {
    if (is_long)
      co_await server.channel.send(server.memory[which].buffer());
    else
      co_await server.channel.send(server.memory[which].bytes());
  }
}

async::task<> take_answer(echo::side& server) {
  const messages::incoming answer = co_await server.channel.next();
  echo::check(answer, end_size);
}

async::task<> connect(async::event_loop& loop, const job& given,
                      std::vector<std::unique_ptr<echo::side>>& servers) {
  servers.push_back(std::make_unique<echo::side>(
      co_await messages::connect(loop, echo::address_of(given), echo::options_of(given)), given));
}

async::task<> end(echo::side& server) { co_await server.channel.close(); }

void run_server(async::event_loop& loop, const job& given) {
  messages::listener listener{loop, echo::address_of(given), echo::options_of(given)};
  std::puts("ready");
  std::fflush(stdout);
  server_clock clock = server_clock_of(&given);
  std::vector<std::unique_ptr<echo::side>> clients;
  loop.spawn(serve_all(loop, listener, clients, clock));
  loop.run();
  clients.clear();
  loop.run();
  report_server(&clock);
}

void run_client(async::event_loop& loop, const job& given) {
  std::vector<std::unique_ptr<echo::side>> servers;
  for (std::size_t each = 0; each < given.channels; ++each) {
    loop.spawn(connect(loop, given, servers));
    loop.run();
  }
  const auto run_phase = [&](std::size_t times) {
    for (const auto& each : servers) {
      if (!given.is_one_way) {
        loop.spawn(ask(*each, given, times));
        continue;
      }
      for (std::size_t which = 0; which < at_once(&given); ++which)
        loop.spawn(send_all(*each, which, given, times));
      loop.spawn(take_answer(*each));
    }
    loop.run();
  };
  run_phase(unmeasured);
  begin_count();
  const double begin = microseconds();
  run_phase(given.messages);
  const double end_time = microseconds();
  end_count(&given);
  report_client(&given, begin, end_time);
  for (const auto& each : servers) loop.spawn(end(*each));
  loop.run();
  servers.clear();
  loop.run();
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  async::event_loop loop{echo::loop_options_of(given)};
  (given.is_server ? run_server : run_client)(loop, given);
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
