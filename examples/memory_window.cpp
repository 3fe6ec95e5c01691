// SPDX-License-Identifier: MIT
// Grants another process the right to write into a part of this one's memory, once, and withdraws
// it.
//
// The two connect; the server grants the client a window over the first half of its memory. The
// client writes there and gives the window back. The server grants the second half through the same
// window, and invalidates it itself when the client has written there. One more write is refused.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/connect_to_peer.hpp"
#include "common/limits.hpp"

namespace {

using adverb::access_right;
using adverb::transport;

struct window_options : examples::connection_options {
  std::uint32_t size = 4096;
};

/// The grant: the client may write, and nothing else.
using grant = adverb::remote_buffer<std::byte, access_right::remote_write>;
using message = std::array<std::byte, grant::encoded_size>;

constexpr std::byte first_byte{0x11};
constexpr std::byte second_byte{0x22};
constexpr std::byte late_byte{0x33};

void check_bytes(std::span<const std::byte> memory, std::byte expected) {
  for (std::size_t offset = 0; offset < memory.size(); ++offset)
    if (memory[offset] != expected)
      throw std::runtime_error{"byte " + std::to_string(offset) + " of the window is " +
                               std::to_string(std::to_integer<int>(memory[offset])) + ", not " +
                               std::to_string(std::to_integer<int>(expected))};
}

void serve(const window_options& options, adverb::protection_domain_ref domain,
           adverb::queue_pair_ref<transport::rc> pair, examples::completions& completions,
           const examples::tcp_connection& peer) {
  std::vector<std::byte> memory(2 * std::size_t{options.size});
  const std::span<const std::byte> first_half = std::span{memory}.first(options.size);
  const std::span<const std::byte> second_half = std::span{memory}.last(options.size);
  // The peer has no right to the region; a window grants one.
  const adverb::memory_region region{domain, memory,
                                     access_right::local_write | access_right::window_bind};
  const adverb::memory_window<adverb::window_type::two> window{domain};

  const auto first = window.prepare<std::byte, access_right::remote_write>(region, 0, options.size);
  pair.post(bind_window(first), send(adverb::inline_data{first.remote().encode()})).check();
  completions.next();  // The message with which the client returned the window.
  check_bytes(first_half, first_byte);
  std::printf("the client wrote %u bytes and invalidated the window\n", options.size);

  const auto second =
      window.prepare<std::byte, access_right::remote_write>(region, options.size, options.size);
  pair.post(bind_window(second), send(adverb::inline_data{second.remote().encode()})).check();
  completions.next();  // "Written".
  check_bytes(second_half, second_byte);
  pair.post(local_invalidate(second).signaled()).check();
  completions.next();
  // The client writes once more when it has this message. The refused write moves this pair to ERR,
  // which may flush the send before it is acknowledged, so its completion is ignored.
  pair.post(adverb::send()).check();
  std::printf("the client wrote %u bytes, then the server invalidated the window\n", options.size);

  peer.synchronize();
  check_bytes(first_half, first_byte);
  check_bytes(second_half, second_byte);
  std::printf("no later write changed the memory\n");
}

/// Receives a grant, and fills the local memory with the bytes to write through it.
grant next_grant(examples::completions& completions, const message& incoming,
                 std::span<std::byte> memory, std::byte value) {
  completions.next();
  for (std::byte& each : memory) each = value;
  return grant::decode(incoming);
}

void use(const window_options& options, adverb::protection_domain_ref domain,
         adverb::queue_pair_ref<transport::rc> pair, examples::completions& completions,
         std::span<const message, 2> incoming) {
  std::vector<std::byte> memory(options.size);
  const adverb::memory_region region{domain, memory};

  const grant first = next_grant(completions, incoming[0], memory, first_byte);
  pair.post(write(first, region.buffer()), send_with_invalidate(first)).check();
  std::printf("wrote %zu bytes and invalidated the window\n", first.size());

  const grant second = next_grant(completions, incoming[1], memory, second_byte);
  pair.post(write(second, region.buffer()), adverb::send()).check();
  completions.next();  // "Taken back".
  std::printf("wrote %zu bytes until the server invalidated the window\n", second.size());

  for (std::byte& each : memory) each = late_byte;
  pair.post(write(second, region.buffer()).signaled()).check();
  try {
    completions.next();
  } catch (const adverb::error& refusal) {
    if (refusal.code() != adverb::completion_status::remote_access_error) throw;
    std::printf("the server refused a later write\n");
    return;
  }
  throw std::runtime_error{"a write through an invalidated window succeeded"};
}

void run(const window_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());

  const adverb::protection_domain domain{device};
  std::array<message, 2> incoming{};
  const adverb::memory_region incoming_region{domain, incoming};
  const auto blocks = incoming_region.blocks(sizeof(message));
  examples::completions completions{device, 8, true};
  auto fresh =
      adverb::queue_pair<transport::rc>::create(domain, {.send_cq = completions.queue(),
                                                         .recv_cq = completions.queue(),
                                                         .max_send_wr = 8,
                                                         .max_recv_wr = 3,
                                                         .max_inline_data = sizeof(message)});
  auto waiting =
      fresh.init().port(options.port).gid(options.gid).allow(access_right::remote_write).apply();
  waiting.post(receive(blocks[0]), receive(blocks[1]), adverb::receive()).check();

  const examples::tcp_connection peer = connect_to_peer(options);
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  peer.synchronize();
  std::printf("connected to %s\n", adverb::to_string(theirs).c_str());

  if (!options.is_client()) return serve(options, domain, pair, completions, peer);
  use(options, domain, pair, completions, incoming);
  peer.synchronize();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Writes to the server's memory through windows that it grants and invalidates.",
      "memory_window"};
  window_options options;
  options.add_to(arguments);
  arguments.add_number("-s,--size", options.size, 1, examples::unlimited,
                       "Size of each window, in bytes");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
