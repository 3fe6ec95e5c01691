// SPDX-License-Identifier: MIT
// The echo of benchmarks/async with rdmapp, as its examples use it: a poller in a thread of its
// own, coroutines in the threads of an executor, and the acceptor and the connector of the
// examples. A region is registered once. Several coroutines receive, so that a receive is posted
// before its message arrives. One message is in progress at a time, so that the counts need no
// lock.
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <acceptor.h>
#include <connector.h>
#include <rdmapp/rdmapp.h>

#include "../async/common.h"

namespace {

using region = std::shared_ptr<rdmapp::local_mr>;

/// A connection, and its blocks.
struct connection {
  explicit connection(std::shared_ptr<rdmapp::qp> connected) : pair{std::move(connected)} {
    for (std::size_t each = 0; each < depth; ++each) receives[each] = registered(blocks[each]);
  }

  std::shared_ptr<rdmapp::qp> pair;
  std::array<std::array<std::byte, block_size>, depth + 1> blocks{};
  std::array<region, depth> receives;
  region first = registered(blocks.back());  // the first message of a client

 private:
  region registered(std::array<std::byte, block_size>& block) const {
    return std::make_shared<rdmapp::local_mr>(pair->pd_ptr()->reg_mr(block.data(), block.size()));
  }
};

void check(std::size_t length) {
  if (length != message_size) throw std::runtime_error{"the message is no echo"};
}

rdmapp::task<void> answer(const connection& client, region block, server_clock& clock,
                          std::promise<void>& ended) {
  while (true) {
    check((co_await client.pair->recv(block)).first);
    count_message(&clock);
    const bool is_last = clock.count == clock.all_messages;
    co_await client.pair->send(block);
    if (!is_last) continue;
    ended.set_value();
    co_return;
  }
}

/// The answers of a client, and its clock.
struct client_clock {
  std::size_t answers = 0;
  double begin = 0;
  double end = 0;
};

rdmapp::task<void> ask_next(const connection& server, region block, std::size_t messages,
                            client_clock& clock, std::promise<void>& ended) {
  while (true) {
    check((co_await server.pair->recv(block)).first);
    ++clock.answers;
    if (clock.answers == unmeasured) clock.begin = microseconds();
    if (clock.answers == unmeasured + messages) {
      clock.end = microseconds();
      ended.set_value();
      co_return;
    }
    co_await server.pair->send(block);
  }
}

/// The tasks that connect keep the connection in `made`, and start the coroutines that receive.
rdmapp::task<void> serve(rdmapp::acceptor& acceptor, std::unique_ptr<connection>& made,
                         server_clock& clock, std::promise<void>& ended) {
  made = std::make_unique<connection>(co_await acceptor.accept());
  for (const region& each : made->receives) answer(*made, each, clock, ended).detach();
}

rdmapp::task<void> ask(rdmapp::connector& connector, std::unique_ptr<connection>& made,
                       std::size_t messages, client_clock& clock, std::promise<void>& ended) {
  made = std::make_unique<connection>(co_await connector.connect());
  for (const region& each : made->receives) ask_next(*made, each, messages, clock, ended).detach();
  co_await made->pair->send(made->first);
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  const auto device = std::make_shared<rdmapp::device>(0, 1);
  const auto domain = std::make_shared<rdmapp::pd>(device);
  const auto queue = std::make_shared<rdmapp::cq>(device);
  std::unique_ptr<connection> made;
  std::promise<void> ended;
  const rdmapp::cq_poller poller{queue};
  const auto loop = rdmapp::socket::event_loop::new_loop();
  std::thread looper{[&] { loop->loop(); }};
  if (given.is_server) {
    rdmapp::acceptor acceptor{loop, given.address, given.port, domain, queue};
    std::puts("ready");
    std::fflush(stdout);
    server_clock clock = server_clock_of(&given);
    serve(acceptor, made, clock, ended).detach();
    ended.get_future().get();
    report_server(&clock);
  } else {
    rdmapp::connector connector{loop, given.address, given.port, domain, queue};
    client_clock clock;
    ask(connector, made, given.messages, clock, ended).detach();
    ended.get_future().get();
    report_client(&given, clock.begin, clock.end);
  }
  loop->close();
  looper.join();
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
