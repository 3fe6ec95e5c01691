// SPDX-License-Identifier: MIT
// Connections over librdmacm, with adverb: the same calls as connections_c.c.
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common.h"

namespace {

namespace cm = adverb::cm;
using rc_listener = cm::listener<adverb::transport::rc>;

constexpr adverb::timeout step = std::chrono::milliseconds{step_milliseconds};

cm::socket_address address_of(const char* text, std::uint16_t port) {
  const auto address = cm::socket_address::parse(text, port);
  if (!address) throw std::runtime_error{std::string{text} + " is no address"};
  return *address;
}

/// Shared by all workers.
struct job {
  explicit job(const arguments& given)
      : size{given.size},
        listener{rc_listener::create(address_of(given.address, 0))},
        start{static_cast<std::ptrdiff_t>(2 * given.size.at_once + 1)} {}

  job_size size;
  rc_listener listener;
  adverb::protection_domain domain{listener.identifier().context()};
  std::barrier<> start;
};

/// The objects that a worker uses for all its connections.
struct worker {
  explicit worker(const job& shared)
      : channel{shared.listener.identifier().context()},
        queue{channel.context(), completions, {.channel = channel}},
        region{shared.domain, memory, adverb::access_right::local_write} {}

  adverb::completion_channel channel;
  adverb::completion_queue queue;
  std::array<std::byte, 2 * message_size> memory{};
  adverb::memory_region region;

  [[nodiscard]] adverb::queue_pair_options pair() const {
    return {.send_cq = queue, .recv_cq = queue};
  }
  void post_receive(const auto& pair) {
    pair.post(adverb::receive(region.slice(0, message_size))).check();
  }
  void post_send(const auto& pair) {
    pair.post(adverb::send(region.slice(message_size, message_size)).signaled()).check();
  }
  void complete(std::size_t count) {
    std::array<adverb::completion, completions> done;
    while (count > 0) {
      const auto found = queue.wait(done);
      for (const adverb::completion& each : found) each.check();
      count -= found.size();
    }
  }
};

void serve(const job& shared, worker& own) {
  auto connection =
      shared.listener.accept({.queue_pair = own.pair(), .domain = shared.domain},
                             [&](auto& request) { own.post_receive(request.queue_pair()); });
  own.complete(1);
  own.post_send(connection.queue_pair());
  own.complete(1);
  connection.wait_disconnected(step);
  connection.disconnect(step);
}

/// Returns how long it took until the connection was there.
double ask(const job& shared, const cm::socket_address& server, worker& own) {
  const double start = microseconds();
  auto connection = cm::connect(server, {.queue_pair = own.pair(), .domain = shared.domain},
                                [&](auto& connector) { own.post_receive(connector.queue_pair()); });
  const double set_up = microseconds() - start;
  own.post_send(connection.queue_pair());
  own.complete(2);
  connection.disconnect(step);
  return set_up;
}

void serve_all(job& shared) {
  worker own{shared};
  for (std::size_t made = 0; made < unmeasured; ++made) serve(shared, own);
  shared.start.arrive_and_wait();
  for (std::size_t made = 0; made < shared.size.each; ++made) serve(shared, own);
}

void ask_all(job& shared, const cm::socket_address& server, double* set_ups) {
  worker own{shared};
  for (std::size_t made = 0; made < unmeasured; ++made) ask(shared, server, own);
  shared.start.arrive_and_wait();
  for (std::size_t made = 0; made < shared.size.each; ++made)
    set_ups[made] = ask(shared, server, own);
}

}  // namespace

int main(int argc, char** argv) try {
  const arguments given = arguments_of(argc, argv);
  job shared{given};
  const cm::socket_address server = shared.listener.local_address();
  std::vector<double> set_ups(given.size.each * given.size.at_once);
  std::vector<std::jthread> servers;
  std::vector<std::jthread> clients;
  for (std::size_t index = 0; index < given.size.at_once; ++index) {
    servers.emplace_back([&] { serve_all(shared); });
    clients.emplace_back(
        [&, index] { ask_all(shared, server, &set_ups[index * given.size.each]); });
  }
  shared.start.arrive_and_wait();
  const double start = microseconds();
  for (std::jthread& each : clients) each.join();
  const double end = microseconds();
  for (std::jthread& each : servers) each.join();
  report(given.size, set_ups.data(), start, end);
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
