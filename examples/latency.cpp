// SPDX-License-Identifier: MIT
// Measures the time of a message over a reliable connection (RC), by its size.
//
// The client sends messages, the server sends each back; half of the time from a send to its
// answer is the latency.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <arpa/inet.h>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/connect_to_peer.hpp"
#include "common/limits.hpp"

namespace {

using adverb::transport;

struct latency_options : examples::connection_options {
  /// Sizes are in bytes.
  std::vector<std::uint32_t> sizes{};
  std::uint32_t iterations = 1000;
  bool sleep = false;
};

/// The two buffers of a side, and its posted receives.
struct messages {
  explicit messages(adverb::protection_domain_ref domain, std::size_t size)
      : outgoing(size), incoming(size), from{domain, outgoing}, into{domain, incoming} {}

  std::vector<std::byte> outgoing;
  std::vector<std::byte> incoming;
  adverb::memory_region from;
  adverb::memory_region into;
};

/// Returns every message until one with immediate data arrives.
void echo(adverb::queue_pair_ref<transport::rc> pair, const messages& buffers,
          examples::completions& completions) {
  while (true) {
    const adverb::completion completion = completions.next();
    const adverb::received_message message = completion.success().receive();
    if (!message) continue;
    if (message.immediate()) return;
    pair.post(receive(buffers.into.buffer())).check();
    pair.post(send(buffers.from.const_slice(0, message.length())).signaled()).check();
  }
}

/// Returns half of the time from a send to its answer, in microseconds.
double measure(adverb::queue_pair_ref<transport::rc> pair, const auto& send, const auto& receive,
               examples::completions& completions) {
  using clock = std::chrono::steady_clock;
  pair.post(receive).check();
  const clock::time_point start = clock::now();
  clock::time_point end = start;
  pair.post(send).check();
  for (int outstanding = 2; outstanding > 0; --outstanding)
    if (completions.next().success().receive()) end = clock::now();
  return std::chrono::duration<double, std::micro>{end - start}.count() / 2;
}

void measure_all(const latency_options& options, adverb::queue_pair_ref<transport::rc> pair,
                 const messages& buffers, examples::completions& completions) {
  std::printf("%10s %14s %11s\n", "bytes", "median (us)", "p99 (us)");
  const auto receive = adverb::receive(buffers.into.buffer());
  for (const std::uint32_t size : options.sizes) {
    const auto send = adverb::send(buffers.from.const_slice(0, size)).signaled();
    std::vector<double> times(options.iterations);
    for (int warm_up = 0; warm_up < 20; ++warm_up) measure(pair, send, receive, completions);
    for (double& time : times) time = measure(pair, send, receive, completions);
    std::sort(times.begin(), times.end());
    std::printf("%10u %14.2f %11.2f\n", size, times[times.size() / 2],
                times[times.size() * 99 / 100]);
  }
  pair.post(send_with_immediate(adverb::immediate{0}).signaled()).check();
  completions.next();
}

/// Returns the larger of the two sides' largest message sizes, which is at most `limit`.
std::uint32_t agree_on_size(const examples::tcp_connection& peer, std::uint32_t ours,
                            std::uint32_t limit) {
  const std::uint32_t said = htonl(ours);
  std::uint32_t heard = 0;
  peer.send(std::as_bytes(std::span{&said, 1}));
  peer.receive(std::as_writable_bytes(std::span{&heard, 1}));
  heard = ntohl(heard);
  examples::check_limit("the peer's --size", heard, limit);
  return std::max(ours, heard);
}

void run(const latency_options& options) {
  const std::uint32_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", largest, port.max_message_size());

  const adverb::protection_domain domain{device};
  examples::completions completions{device, 32, options.sleep};
  auto fresh = adverb::queue_pair<transport::rc>::create(domain, {.send_cq = completions.queue(),
                                                                  .recv_cq = completions.queue(),
                                                                  .max_send_wr = 16,
                                                                  .max_recv_wr = 2});
  auto waiting = fresh.init().port(options.port).gid(options.gid).apply();

  const examples::tcp_connection peer = connect_to_peer(options);
  const messages buffers{domain, agree_on_size(peer, largest, port.max_message_size())};
  if (!options.is_client()) waiting.post(receive(buffers.into.buffer())).check();
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  peer.synchronize();
  std::printf("connected to %s\n", adverb::to_string(theirs).c_str());

  if (options.is_client())
    measure_all(options, pair, buffers, completions);
  else
    echo(pair, buffers, completions);
  peer.synchronize();  // A server that ended now might end before its last acknowledgement is sent.
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Measures the latency of messages over a reliable connection (RC), by size.", "latency"};
  latency_options options;
  for (std::uint32_t size = 2; size <= 65536; size *= 2) options.sizes.push_back(size);
  options.add_to(arguments);
  arguments.add_numbers("-s,--size", options.sizes, 1, examples::unlimited,
                        "Sizes to measure, such as 64,4096 (default: 2, 4, 8 and so on to 65536)");
  arguments.add_number("-n,--iters", options.iterations, 1, 10'000'000,
                       "Number of messages of each size");
  arguments.add_flag("-e,--events", options.sleep,
                     "Sleep until there are completions, instead of polling");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
