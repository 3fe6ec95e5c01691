// SPDX-License-Identifier: MIT
// Bounces messages as datagrams (UD). Works with rdma-core's ibv_ud_pingpong in both roles.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/limits.hpp"
#include "common/pingpong_message.hpp"
#include "common/pingpong_options.hpp"
#include "common/pingpong_peer.hpp"
#include "common/pingpong_report.hpp"
#include "common/rally.hpp"

namespace {

/// The key that ibv_ud_pingpong uses; it is not part of the address that the peers exchange.
constexpr adverb::queue_key key{0x11111111};

void play(const examples::pingpong_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, adverb::bytes_of(port.active_mtu()));
  examples::check_receive_depth(device, options.receive_depth);

  const adverb::protection_domain domain{device};
  const std::vector<std::byte> outgoing = examples::make_message(options.size);
  std::vector<std::byte> incoming(adverb::grh_size + options.size);
  const adverb::memory_region from{domain, outgoing};
  const adverb::memory_region into{domain, incoming};
  examples::completions completions{device, options.receive_depth + 1, options.sleep};

  auto fresh = adverb::queue_pair<adverb::transport::ud>::create(
      domain, {.send_cq = completions.queue(),
               .recv_cq = completions.queue(),
               .max_send_wr = 1,
               .max_recv_wr = options.receive_depth});
  auto waiting = fresh.init().port(options.port).gid(options.gid).queue_key(key).apply();
  const auto receive = adverb::receive(into.buffer());
  for (std::uint32_t count = 0; count < options.receive_depth; ++count)
    waiting.post(receive).check();

  const examples::pingpong_peer peer{options, waiting.endpoint()};
  const adverb::address_handle way{
      domain, waiting.address_of(peer.endpoint(), {.service_level = options.service_level})};
  auto receiving = waiting.rtr().apply();
  const auto pair = receiving.rts().apply();
  peer.ready();

  const auto send =
      adverb::send(from.const_buffer())
          .signaled()
          .to({.address = way, .queue_pair = peer.endpoint().number, .queue_key = key});
  const examples::pingpong_clock clock;
  examples::rally(
      completions, options.iterations, options.is_client(), [&] { pair.post(send).check(); },
      [&] { pair.post(receive).check(); });
  clock.report(options.size, options.iterations);
  if (options.check) examples::check_message(std::span{incoming}.subspan(adverb::grh_size));
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Bounces messages as datagrams (UD).", "ud_pingpong"};
  examples::pingpong_options options;
  options.size = 1024;  // The number of messages that ibv_ud_pingpong really sends; its help gives
                        // 2048.
  options.add_to(arguments);
  arguments.add_footer(
      "The other side may be ibv_ud_pingpong, which needs -g on Ethernet links (RoCE).");
  return examples::run(arguments, argc, argv, [&] { play(options); });
}
