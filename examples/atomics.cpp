// SPDX-License-Identifier: MIT
// Counts in the memory of another process, with fetch-and-add and compare-and-swap.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/connect_to_peer.hpp"
#include "common/limits.hpp"

namespace {

using adverb::access_right;
using adverb::transport;

struct atomics_options : examples::connection_options {
  std::uint32_t iterations = 1000;
};

/// The server's counter, as the client sees it.
using shared_counter = adverb::remote_buffer<std::uint64_t, access_right::remote_atomic>;

constexpr std::uint64_t step = 3;
constexpr std::uint64_t last = 1'000'000'007;

void expect(const char* what, std::uint64_t found, std::uint64_t expected) {
  if (found != expected)
    throw std::runtime_error{std::string{what} + " is " + std::to_string(found) + ", not " +
                             std::to_string(expected)};
}

void serve(std::uint64_t& counter, const adverb::memory_region& region,
           const examples::tcp_connection& peer) {
  peer.send(region.remote<std::uint64_t, access_right::remote_atomic>().encode());
  peer.synchronize();
  expect("the counter", counter, last);
  std::printf("the client left the counter at %" PRIu64 ", as expected\n", counter);
}

void count(const shared_counter& counter, std::uint32_t iterations, std::uint64_t& result,
           const adverb::memory_region& region, adverb::queue_pair_ref<transport::rc> pair,
           examples::completions& completions) {
  // `result` receives the value from before the atomic operation.
  const auto fetch_and_add = adverb::fetch_and_add(counter, step, region.buffer()).signaled();
  std::uint64_t expected = 0;
  for (std::uint32_t round = 0; round < iterations; ++round, expected += step) {
    pair.post(fetch_and_add).check();
    completions.next();
    expect("the result of fetch-and-add", result, expected);
  }
  std::printf("fetch-and-add: %u times %" PRIu64 ", each returned what the previous one left\n",
              iterations, step);

  const auto compare_and_swap =
      adverb::compare_and_swap(counter, {.expected = expected, .desired = last}, region.buffer())
          .signaled();
  pair.post(compare_and_swap).check();
  completions.next();
  expect("the result of compare-and-swap", result, expected);
  std::printf("compare-and-swap: found the expected %" PRIu64 " and replaced it\n", result);

  pair.post(compare_and_swap).check();
  completions.next();
  expect("the result of the second compare-and-swap", result, last);
  std::printf("compare-and-swap again: found %" PRIu64 " and left it\n", result);
}

void run(const atomics_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  examples::active_port(device, options.port);
  if (device.query_device().atomicity() == adverb::atomicity::none)
    throw std::runtime_error{"this device has no atomic operations: choose another with --ib-dev"};

  const adverb::protection_domain domain{device};
  std::uint64_t number = 0;  // The server's counter, or the client's results.
  const adverb::memory_region region{domain, std::span{&number, 1},
                                     access_right::local_write | access_right::remote_atomic};
  examples::completions completions{device, 4, false};
  auto fresh = adverb::queue_pair<transport::rc>::create(
      domain, {.send_cq = completions.queue(), .recv_cq = completions.queue()});
  auto waiting =
      fresh.init().port(options.port).gid(options.gid).allow(access_right::remote_atomic).apply();

  const examples::tcp_connection peer = connect_to_peer(options);
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  std::printf("connected to %s\n", adverb::to_string(theirs).c_str());

  if (!options.is_client()) return serve(number, region, peer);
  const auto counter = shared_counter::decode(peer.receive<shared_counter::encoded_size>());
  count(counter, options.iterations, number, region, pair, completions);
  peer.synchronize();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Counts in the server's memory with atomic operations.",
                                   "atomics"};
  atomics_options options;
  options.add_to(arguments);
  arguments.add_number("-n,--iters", options.iterations, 1, 100'000, "Number of additions");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
