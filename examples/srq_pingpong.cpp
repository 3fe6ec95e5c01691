// SPDX-License-Identifier: MIT
// Bounces messages over several reliable connections (RC) at once, which take their receives from
// one shared queue. Works with rdma-core's ibv_srq_pingpong in both roles.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/limits.hpp"
#include "common/pingpong_message.hpp"
#include "common/pingpong_options.hpp"
#include "common/pingpong_peer.hpp"
#include "common/pingpong_report.hpp"

namespace {

using adverb::qp_state;
using adverb::transport;

/// The largest number of pairs, which is also the number of addresses that each side sends.
constexpr std::uint32_t most_pairs = 256;

struct srq_pingpong_options : examples::pingpong_options {
  std::uint32_t pairs = 16;
};

void check_sizes(adverb::context_ref device, const srq_pingpong_options& options) {
  const adverb::device_attributes limits = device.query_device();
  examples::check_limit("--rx-depth", options.receive_depth,
                        limits.max_shared_receive_queue_requests());
  examples::check_limit("--rx-depth", options.receive_depth,
                        limits.max_completion_queue_entries() - options.pairs);
  if (options.receive_depth < options.pairs)
    throw examples::wrong_argument{"--rx-depth is " + std::to_string(options.receive_depth) +
                                   ", but each of " + std::to_string(options.pairs) +
                                   " queue pairs needs a receive"};
}

/// A connected pair, and its events since its last message was sent.
struct player {
  adverb::queue_pair<transport::rc> pair;
  bool sent;
  bool received = false;

  [[nodiscard]] bool has_turn() const noexcept { return sent && received; }
};

/// Exchanges messages over all pairs at once, until `rounds` have gone each way.
template <class Send, class Receive>
void rally(examples::completions& completions, std::vector<player>& players, bool serves,
           std::uint32_t rounds, const Send& send, const Receive& receive) {
  std::uint32_t posted = 0;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  const auto play = [&](player& each) {
    if (posted == rounds) return;
    send(each.pair);
    ++posted;
    each.sent = each.received = false;
  };
  if (serves) std::for_each(players.begin(), players.end(), play);
  while (sent < rounds || received < rounds) {
    const adverb::completion done = completions.next();
    const auto found = std::find_if(players.begin(), players.end(), [&](const player& each) {
      return each.pair.number() == done.queue_pair();
    });
    if (done.success().receive()) {
      ++received;
      found->received = true;
      receive();
    } else {
      ++sent;
      found->sent = true;
    }
    if (found->has_turn()) play(*found);
  }
}

void play(const srq_pingpong_options& options) {
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, port.max_message_size());
  check_sizes(device, options);

  const adverb::protection_domain domain{device};
  const std::vector<std::byte> outgoing = examples::make_message(options.size);
  std::vector<std::byte> incoming(options.size);
  const adverb::memory_region from{domain, outgoing};
  const adverb::memory_region into{domain, incoming};
  examples::completions completions{device, options.receive_depth + options.pairs, options.sleep};

  const adverb::shared_receive_queue shared{domain, {.max_wr = options.receive_depth}};
  const auto receive = adverb::receive(into.buffer());
  for (std::uint32_t count = 0; count < options.receive_depth; ++count)
    shared.post(receive).check();

  std::vector<adverb::queue_pair<transport::rc, qp_state::init>> waiting;
  std::vector<adverb::endpoint> ours;
  for (std::uint32_t count = 0; count < options.pairs; ++count) {
    auto fresh = adverb::queue_pair<transport::rc>::create(
        domain, {.send_cq = completions.queue(), .recv_cq = completions.queue(), .srq = shared});
    waiting.push_back(fresh.init().port(options.port).gid(options.gid).apply());
    ours.push_back(waiting.back().endpoint());
  }

  const examples::pingpong_peers peers{options, std::move(ours), most_pairs};
  std::vector<player> players;
  for (std::size_t index = 0; index < waiting.size(); ++index)
    players.push_back(
        {.pair = waiting[index].connect(
             peers.endpoints()[index],
             {.path = {.service_level = options.service_level}, .path_mtu = options.mtu}),
         .sent = true});
  peers.ready();

  const auto send = adverb::send(from.const_buffer()).signaled();
  const examples::pingpong_clock clock;
  rally(
      completions, players, options.is_client(), options.iterations,
      [&](const adverb::queue_pair<transport::rc>& pair) { pair.post(send).check(); },
      [&] { shared.post(receive).check(); });
  clock.report(options.size, options.iterations);
  if (options.check) examples::check_message(incoming);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Bounces messages over several reliable connections (RC) that share a receive queue.",
      "srq_pingpong"};
  srq_pingpong_options options;
  options.add_to(arguments);
  options.add_mtu_to(arguments);
  arguments.add_number("-q,--num-qp", options.pairs, 1, most_pairs,
                       "Number of queue pairs; the same on both sides");
  arguments.add_footer(
      "The other side may be ibv_srq_pingpong, which needs -g on Ethernet links (RoCE). Its\n"
      "option for on-demand paging (-o) is not supported. The messages are counted over all queue "
      "pairs.");
  return examples::run(arguments, argc, argv, [&] { play(options); });
}
