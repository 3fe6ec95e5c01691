// SPDX-License-Identifier: MIT
// Shared by the programs whose instructions are counted: a connection over a provider that
// completes every request at once (benchmarks/peers/instant_verbs.cpp), and the operations on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>

#include "../support/count_instructions.hpp"

// The program has no connection manager, but a loop has a channel of it. They stand before those of
// librdmacm.
extern "C" rdma_event_channel* rdma_create_event_channel() {
  static rdma_event_channel channel{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  return &channel;
}
extern "C" void rdma_destroy_event_channel(rdma_event_channel*) {}

namespace steps {

inline constexpr std::uint32_t depth = 32;

/// Returns a queue pair that is connected to itself, with room for so many sends and receives.
[[nodiscard]] inline adverb::queue_pair<adverb::transport::rc> connected(
    adverb::protection_domain_ref domain, adverb::completion_queue_ref queue, std::uint32_t sends,
    std::uint32_t receives) {
  auto fresh = adverb::queue_pair<adverb::transport::rc>::create(
      domain, {.cq = queue, .max_send_wr = sends, .max_recv_wr = receives});
  auto waiting = fresh.init().port(adverb::port_number{1}).apply();
  return waiting.connect(waiting.endpoint());
}
/// Returns one of the loop, with queues of `size` requests.
[[nodiscard]] inline adverb::queue_pair<adverb::transport::rc> connected(
    adverb::async::device_loop& loop, adverb::context_ref device, std::uint32_t size = depth) {
  return connected(loop.domain(device), loop.queue(device), size, size);
}

/// A connection, and a message to send.
struct side {
  side(adverb::async::device_loop& loop, adverb::context_ref device)
      : connection{loop, connected(loop, device), {.max_send_wr = depth, .receives = depth}} {}

  adverb::async::connection connection;
  std::array<std::byte, 64> bytes{};
  adverb::memory_region region{connection.protection_domain(), bytes};
};

}  // namespace steps
