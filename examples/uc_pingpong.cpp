// SPDX-License-Identifier: MIT
// Bounces messages over an unreliable connection (UC). Talks to rdma-core's
// ibv_uc_pingpong in both roles.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/completions.hpp"
#include "common/limits.hpp"
#include "common/pingpong_message.hpp"
#include "common/pingpong_options.hpp"
#include "common/pingpong_peer.hpp"
#include "common/pingpong_report.hpp"
#include "common/rally.hpp"
#include "common/run.hpp"

namespace {

void play(const examples::pingpong_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());
  examples::check_receive_depth(device, options.receive_depth);

  const adverb::protection_domain domain{device};
  const std::vector<std::byte> outgoing = examples::make_message(options.size);
  std::vector<std::byte> incoming(options.size);
  const adverb::memory_region from{domain, outgoing, adverb::access_rights{}};
  const adverb::memory_region into{domain, incoming};
  examples::completions completions{device, options.receive_depth + 1, options.sleep};

  auto fresh = adverb::queue_pair<adverb::transport::uc>::create(
      domain, {.send_cq = completions.queue(),
               .recv_cq = completions.queue(),
               .max_send_wr = 1,
               .max_recv_wr = options.receive_depth});
  auto waiting = fresh.init().port(options.port).gid(options.gid).apply();
  const auto receive = adverb::receive(into.buffer());
  for (std::uint32_t count = 0; count < options.receive_depth; ++count)
    waiting.post(receive).check();

  const examples::pingpong_peer peer{options, waiting.endpoint()};
  const auto pair = waiting.connect(
      peer.endpoint(), {.path = {.service_level = options.service_level}, .path_mtu = options.mtu});
  peer.ready();

  const auto send = adverb::send(from.const_buffer()).signaled();
  const examples::pingpong_clock clock;
  examples::rally(
      completions, options.iterations, options.is_client(), [&] { pair.post(send).check(); },
      [&] { pair.post(receive).check(); });
  clock.report(options.size, options.iterations);
  if (options.check) examples::check_message(incoming);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Bounces messages over an unreliable connection (UC).", "uc_pingpong"};
  examples::pingpong_options options;
  options.add_to(app);
  options.add_mtu_to(app);
  app.footer("The other side may be ibv_uc_pingpong, which needs -g on Ethernet links (RoCE).");
  return examples::run(app, argc, argv, [&] { play(options); });
}
