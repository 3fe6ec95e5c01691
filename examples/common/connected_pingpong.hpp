// SPDX-License-Identifier: MIT
// A complete ping-pong between two connected queue pairs, the same for RC and UC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <adverb/adverb.hpp>

#include "completions.hpp"
#include "limits.hpp"
#include "pingpong_message.hpp"
#include "pingpong_options.hpp"
#include "pingpong_peer.hpp"
#include "pingpong_report.hpp"
#include "rally.hpp"

namespace examples {

/// Connects to the other side and exchanges the messages.
template <adverb::transport Transport>
void play_connected(const pingpong_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = active_port(device, options.port);
  check_limit("--size", options.size, port.max_message_size());
  check_receive_depth(device, options.receive_depth);

  const adverb::protection_domain domain{device};
  const std::vector<std::byte> outgoing = make_message(options.size);
  std::vector<std::byte> incoming(options.size);
  const adverb::memory_region from{domain, outgoing};
  const adverb::memory_region into{domain, incoming};
  examples::completions completions{device, options.receive_depth + 1, options.sleep};

  auto fresh =
      adverb::queue_pair<Transport>::create(domain, {.send_cq = completions.queue(),
                                                     .recv_cq = completions.queue(),
                                                     .max_send_wr = 1,
                                                     .max_recv_wr = options.receive_depth});
  auto waiting = fresh.init().port(options.port).gid(options.gid).apply();
  const auto receive = adverb::receive(into.buffer());
  for (std::uint32_t count = 0; count < options.receive_depth; ++count)
    waiting.post(receive).check();

  const pingpong_peer peer{options, waiting.endpoint()};
  const auto pair = waiting.connect(
      peer.endpoint(), {.path = {.service_level = options.service_level}, .path_mtu = options.mtu});
  peer.ready();

  const auto send = adverb::send(from.const_buffer()).signaled();
  const pingpong_clock clock;
  rally(
      completions, options.iterations, options.is_client(), [&] { pair.post(send).check(); },
      [&] { pair.post(receive).check(); });
  clock.report(options.size, options.iterations);
  if (options.check) check_message(incoming);
}

}  // namespace examples
