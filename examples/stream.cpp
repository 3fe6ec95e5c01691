// SPDX-License-Identifier: MIT
// Streams many blocks to another process at full speed, with a send window, a receive refill and
// poll_until.
//
// The client never has more sends in progress than its window allows, and few of them are signaled.
// The server keeps its receive queue filled with blocks, and adds the received bytes to a checksum,
// which has to equal the client's in the end.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/checksum.hpp"
#include "common/command_line.hpp"
#include "common/connect_to_peer.hpp"
#include "common/limits.hpp"
#include "common/patience.hpp"

namespace {

using adverb::transport;
using examples::checksum;
using pair_ref = adverb::queue_pair_ref<transport::rc>;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t depth = 128;  // The depth of the send window, and of the receive queue.

struct stream_options : examples::connection_options {
  std::uint32_t size = 4096;
  std::uint32_t blocks = 10'000;
};

/// Prints a line for each quarter of the blocks.
void show_progress(std::uint32_t before, std::uint32_t now, std::uint32_t all) {
  const auto quarters = [all](std::uint64_t count) { return 4 * count / all; };
  if (quarters(before) != quarters(now)) std::printf("  %u of %u blocks\n", now, all);
}

/// Sends blocks that differ, from memory with one block for each request of the window.
void send_all(const stream_options& options, adverb::protection_domain_ref domain, pair_ref pair,
              adverb::completion_queue_ref queue, const examples::tcp_connection& peer) {
  std::vector<std::byte> memory(std::size_t{options.size} * depth);
  const adverb::memory_region region{domain, memory};
  const auto blocks = region.blocks(options.size);
  adverb::send_window window{pair, {.size = depth}};
  auto deadline = clock_type::now() + examples::patience;
  const auto take_back = [&](const auto& done) {
    done.check();
    window.completed(done);
    deadline = clock_type::now() + examples::patience;
  };
  const auto wait_for_room = [&](std::uint32_t room) {
    queue.poll_until(adverb::up_to<16>, take_back,
                     [&] { return window.available() >= room || clock_type::now() > deadline; });
    if (window.available() < room) throw std::runtime_error{"the server takes no more blocks"};
  };

  checksum sum;
  peer.synchronize();  // The server has posted its receives.
  const auto start = clock_type::now();
  for (std::uint32_t number = 0; number < options.blocks; ++number) {
    wait_for_room(1);  // Then the block that was sent `depth` blocks ago is free again.
    const std::span block{&memory[number % depth * std::size_t{options.size}], options.size};
    std::fill(block.begin(), block.end(), static_cast<std::byte>(number * 31 + number / 256));
    sum.add(block);
    const bool is_last = number + 1 == options.blocks;
    window.post(send(blocks[number % depth]).signaled(is_last)).check();
    show_progress(number, number + 1, options.blocks);
  }
  wait_for_room(window.size());
  const std::chrono::duration<double> took = clock_type::now() - start;
  peer.send(sum.encode());
  std::printf("sent %u blocks of %u bytes in %.3f s\n", options.blocks, options.size, took.count());
}

void receive_all(const stream_options& options, adverb::protection_domain_ref domain, pair_ref pair,
                 adverb::completion_queue_ref queue, const examples::tcp_connection& peer) {
  std::vector<std::byte> memory(std::size_t{options.size} * depth);
  const adverb::memory_region region{domain, memory};
  adverb::receive_refill receives{pair, region.blocks(options.size), {.batch = 16}};
  receives.fill().check();
  peer.synchronize();

  checksum sum;
  std::uint32_t received = 0;
  auto deadline = clock_type::now() + examples::patience;
  const auto take = [&](const auto& done) {
    done.check();
    sum.add(receives.bytes(done));
    receives.give_back(done).check();
    show_progress(received, received + 1, options.blocks);
    ++received;
    deadline = clock_type::now() + examples::patience;
  };
  queue.poll_until(adverb::up_to<16>, take,
                   [&] { return received >= options.blocks || clock_type::now() > deadline; });
  if (received < options.blocks)
    throw std::runtime_error{"no completion arrived after " + std::to_string(received) + " blocks"};
  if (peer.receive<8>() != sum.encode()) throw std::runtime_error{"the checksums differ"};
  std::printf("received %u blocks; the checksum %016llx is right\n", received, sum.value());
}

void run(const stream_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());
  const adverb::protection_domain domain{device};
  const adverb::completion_queue queue{device, depth};
  auto fresh = adverb::queue_pair<transport::rc>::create(
      domain, {.cq = queue, .max_send_wr = depth, .max_recv_wr = depth});
  auto waiting = fresh.init().port(options.port).gid(options.gid).apply();
  const examples::tcp_connection peer = connect_to_peer(options);
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  (options.is_client() ? send_all : receive_all)(options, domain, pair, queue, peer);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Streams blocks from a client to a server, which checks them.",
                                   "stream"};
  stream_options options;
  options.add_to(arguments);
  arguments.add_number("-s,--size", options.size, 1, examples::unlimited,
                       "Size of a block, in bytes");
  arguments.add_number("-n,--blocks", options.blocks, 1, 1U << 30, "Number of blocks");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
