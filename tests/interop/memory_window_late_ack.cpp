// SPDX-License-Identifier: MIT
// Usage: memory_window_late_ack ADDRESS
//
// A client of examples/memory_window.cpp that has no receive for the last message of the server:
// the message stays unacknowledged until a refused write moves the server's queue pair to ERR. The
// client writes when its standard input ends.
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/completions.hpp"
#include "common/connect_to_peer.hpp"

namespace {

using adverb::access_right;
using adverb::transport;
using grant = adverb::remote_buffer<std::byte, access_right::remote_write>;
using message = std::array<std::byte, grant::encoded_size>;

/// Writes a byte to all of the granted memory, and posts another request behind that.
void fill(const grant& remote, std::byte value, adverb::queue_pair_ref<transport::rc> pair,
          const adverb::memory_region& region, std::span<std::byte> memory, const auto& then) {
  for (std::byte& each : memory) each = value;
  pair.post(write(remote, region.buffer()), then).check();
}

void run(const char* address) {
  examples::connection_options options;
  options.server = address;
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain domain{device};
  std::array<message, 2> incoming{};
  const adverb::memory_region incoming_region{domain, incoming};
  const auto blocks = incoming_region.blocks(sizeof(message));
  examples::completions completions{device, 8, true};
  auto fresh = adverb::queue_pair<transport::rc>::create(domain, {.send_cq = completions.queue(),
                                                                  .recv_cq = completions.queue(),
                                                                  .max_send_wr = 8,
                                                                  .max_recv_wr = 2});
  auto waiting = fresh.init().port(options.port).gid(options.gid).apply();
  waiting.post(receive(blocks[0]), receive(blocks[1])).check();

  const examples::tcp_connection peer = connect_to_peer(options);
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  peer.synchronize();

  completions.next();
  const grant first = grant::decode(incoming[0]);
  std::vector<std::byte> memory(first.size());
  const adverb::memory_region region{domain, memory};
  fill(first, std::byte{0x11}, pair, region, memory, send_with_invalidate(first));
  completions.next();
  const grant second = grant::decode(incoming[1]);
  fill(second, std::byte{0x22}, pair, region, memory, adverb::send());

  while (std::getchar() != EOF) {
  }
  pair.post(write(second, region.buffer()).signaled()).check();
  try {
    completions.next();
  } catch (const adverb::error& refusal) {
    if (refusal.code() != adverb::completion_status::remote_access_error) throw;
    peer.synchronize();
    return;
  }
  throw std::runtime_error{"a write through an invalidated window succeeded"};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error{"it takes the server's address"};
  run(argv[1]);
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "memory_window_late_ack: %s\n", failed.what());
  return 1;
}
