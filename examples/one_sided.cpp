// SPDX-License-Identifier: MIT
// Writes to the memory of another process and reads it back, while that process sleeps.
//
// The two connect; the server sends the client the address and the key of its memory; the client
// writes and reads; a last message ends the exchange.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
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

struct one_sided_options : examples::connection_options {
  std::uint32_t size = 65536;
};

/// The server's memory, as the client sees it.
using shared_memory =
    adverb::remote_buffer<std::byte, access_right::remote_read | access_right::remote_write>;
/// The one message in each direction: the place of the memory, and the (empty) end of the exchange.
using message = std::array<std::byte, shared_memory::encoded_size>;

/// A byte that is unlikely to be there by accident.
std::byte pattern(std::size_t offset) { return static_cast<std::byte>(offset * 31 + offset / 256); }

void check_pattern(std::span<const std::byte> memory, const char* where) {
  for (std::size_t offset = 0; offset < memory.size(); ++offset)
    if (memory[offset] != pattern(offset))
      throw std::runtime_error{std::string{"the bytes "} + where + " are wrong from " +
                               std::to_string(offset) + " on"};
  std::printf("all %zu bytes %s are right\n", memory.size(), where);
}

void serve(const one_sided_options& options, adverb::protection_domain_ref domain,
           adverb::queue_pair_ref<transport::rc> pair, examples::completions& completions) {
  std::vector<std::byte> memory(options.size);
  const adverb::memory_region region{
      domain, memory,
      access_right::local_write | access_right::remote_read | access_right::remote_write};
  const message offer = region.remote().encode();
  pair.post(send(adverb::inline_data{offer})).check();

  const std::clock_t before = std::clock();
  completions.next();  // "done"; what the client does before that is not seen here.
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  std::printf("the client is done; this took %.3f ms of the server's processor time\n", 1e3 * used);
  check_pattern(memory, "that the client wrote");
}

void use(const shared_memory& remote, adverb::protection_domain_ref domain,
         adverb::queue_pair_ref<transport::rc> pair, examples::completions& completions) {
  std::vector<std::byte> memory(remote.size());
  const adverb::memory_region region{domain, memory};
  for (std::size_t offset = 0; offset < memory.size(); ++offset) memory[offset] = pattern(offset);
  pair.post(write(remote, region.buffer()).signaled()).check();
  completions.next();
  std::printf("wrote %zu bytes\n", memory.size());

  std::fill(memory.begin(), memory.end(), std::byte{0});
  pair.post(read(remote, region.buffer()).signaled()).check();
  completions.next();
  check_pattern(memory, "that were read back");

  pair.post(adverb::send().signaled()).check();
  completions.next();
}

void run(const one_sided_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());

  const adverb::protection_domain domain{device};
  message incoming{};
  const adverb::memory_region incoming_region{domain, incoming};
  examples::completions completions{device, 4, true};
  auto fresh =
      adverb::queue_pair<transport::rc>::create(domain, {.send_cq = completions.queue(),
                                                         .recv_cq = completions.queue(),
                                                         .max_inline_data = sizeof(message)});
  auto waiting = fresh.init()
                     .port(options.port)
                     .gid(options.gid)
                     .allow(access_right::remote_read | access_right::remote_write)
                     .apply();
  waiting.post(receive(incoming_region.buffer())).check();

  const examples::tcp_connection peer = connect_to_peer(options);
  peer.send(waiting.endpoint().encode());
  const auto theirs = adverb::endpoint::decode(peer.receive<adverb::endpoint::encoded_size>());
  const auto pair = waiting.connect(theirs);
  peer.synchronize();
  std::printf("connected to %s\n", adverb::to_string(theirs).c_str());

  if (options.is_client()) {
    completions.next();
    const auto remote = shared_memory::decode(incoming);
    examples::check_limit("the server's --size", remote.size(), port.max_message_size());
    use(remote, domain, pair, completions);
  } else {
    serve(options, domain, pair, completions);
  }
  peer.synchronize();  // A server that ended now might end before it acknowledges "done".
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Writes to the server's memory and reads it back, while the server sleeps.", "one_sided"};
  one_sided_options options;
  options.add_to(arguments);
  arguments.add_number("-s,--size", options.size, 1, examples::unlimited,
                       "Size of the server's memory, in bytes");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
