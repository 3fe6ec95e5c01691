// SPDX-License-Identifier: MIT
// Messages there and back between programs that block.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/messages.hpp>

#include "common.h"
#include "echo.hpp"

namespace {

namespace async = adverb::async;
namespace messages = adverb::messages;

void run_server(const job& given) {
  async::event_loop loop{echo::loop_options_of(given)};
  messages::channel_options options = echo::options_of(given);
  options.is_blocking = true;
  messages::listener listener{loop, echo::address_of(given), options};
  std::puts("ready");
  std::fflush(stdout);
  server_clock clock = server_clock_of(&given);
  {
    echo::side client{loop.wait(listener.accept()), given};
    const adverb::mutable_buffer memory = client.memory[0].buffer();
    while (messages::incoming got = client.channel.next().wait()) {
      count_message(&clock);
      if (!got.is_offer()) {
        client.channel.send(got.bytes()).wait();
        continue;
      }
      got.receive_into(memory).wait();
      got = {};
      client.channel.send(memory).wait();
    }
  }
  loop.run();
  report_server(&clock);
}

void ask(echo::side& server, const job& given, std::size_t times) {
  const adverb::mutable_buffer memory = server.memory[0].buffer();
  const bool is_long = is_offered(&given);
  for (std::size_t each = 0; each < times; ++each) {
    if (is_long)
      server.channel.send(memory).wait();
    else
      server.channel.send(server.memory[0].bytes()).wait();
    messages::incoming answer = server.channel.next().wait();
    if (answer.is_offer()) answer.receive_into(memory).wait();
    echo::check(answer, given.size);
  }
}

void run_client(const job& given) {
  echo::side server{messages::connect(echo::address_of(given), echo::options_of(given)), given};
  ask(server, given, unmeasured);
  begin_count();
  const double begin = microseconds();
  ask(server, given, given.messages);
  const double end_time = microseconds();
  end_count(&given);
  report_client(&given, begin, end_time);
  server.channel.close().wait();
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  if (given.is_one_way || given.channels != 1)
    throw std::runtime_error{"a program that blocks has one channel, and waits for each answer"};
  (given.is_server ? run_server : run_client)(given);
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
