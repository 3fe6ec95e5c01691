// SPDX-License-Identifier: MIT
// Many queue pairs in one process, with adverb: the same calls as scale_c.c.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include <adverb/adverb.hpp>

#include "common.h"

namespace {

using adverb::access_right;
using adverb::transport;

/// Shared by all queue pairs.
struct device {
  device(const char* name, adverb::gid_index index)
      : context{adverb::open_device(name)}, gid{index} {}

  static constexpr adverb::port_number port{1};

  adverb::context context;
  adverb::gid_index gid;
  adverb::mtu mtu = context.query_port(port).active_mtu();
  adverb::address way{
      .port = port,
      .route = adverb::global_route{.destination = context.gid(port, gid), .source = gid}};
  adverb::protection_domain domain{context};
  adverb::completion_queue completions{context, window};
  std::array<std::uint64_t, 2> memory{};
  adverb::memory_region region{domain, memory,
                               access_right::local_write | access_right::remote_write};
};

using waiting_pair = adverb::queue_pair<transport::rc, adverb::qp_state::init>;
using ready_pair = adverb::queue_pair<transport::rc>;

adverb::psn first_packet(std::size_t index) {
  return adverb::psn{static_cast<std::uint32_t>(index)};
}

waiting_pair create(const device& on, std::size_t index) {
  auto fresh = adverb::queue_pair<transport::rc>::create(
      on.domain, {.send_cq = on.completions, .recv_cq = on.completions, .max_send_wr = window});
  return fresh.init()
      .port(on.port)
      .gid(on.gid)
      .psn(first_packet(index))
      .allow(access_right::remote_write)
      .apply();
}

ready_pair connect(const device& on, waiting_pair& pair, adverb::qp_number peer,
                   std::size_t peer_index) {
  auto receiving = pair.rtr()
                       .address(on.way)
                       .remote_queue_pair(peer)
                       .remote_psn(first_packet(peer_index))
                       .path_mtu(on.mtu)
                       .max_destination_read_atomic(1)
                       .apply();
  return receiving.rts().max_initiator_read_atomic(1).apply();
}

std::vector<ready_pair> set_up(const device& on, std::size_t count) {
  std::vector<waiting_pair> waiting;
  waiting.reserve(count);
  for (std::size_t index = 0; index < count; ++index) waiting.push_back(create(on, index));
  std::vector<ready_pair> ready;
  ready.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    const std::size_t peer = peer_of(index, count);
    // The elements before this one were moved from when they were connected.
    const adverb::qp_number number = peer < index ? ready[peer].number() : waiting[peer].number();
    ready.push_back(connect(on, waiting[index], number, peer));
  }
  return ready;
}

[[gnu::noinline]] void write_over_all(const device& on, std::vector<ready_pair>& pairs,
                                      std::size_t messages) {
  const std::array payload{on.region.const_slice(0, message_size)};
  const auto write =
      adverb::write(on.region.remote<std::uint64_t, access_right::remote_write>().slice(1, 1),
                    std::span{payload})
          .signaled();
  std::array<adverb::completion, window> done;
  const std::size_t count = pairs.size();
  std::size_t outstanding = 0;
  std::size_t next = 0;
  for (std::size_t message = 0; message < messages || outstanding > 0;) {
    if (message < messages && outstanding < window) {
      pairs[next].post(write.id(message)).check();
      if (++next == count) next = 0;
      ++message;
      ++outstanding;
      continue;
    }
    const auto found = on.completions.poll(done);
    for (const adverb::completion& each : found) each.check();
    outstanding -= found.size();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const arguments given = arguments_of(argc, argv);
  const device on{given.device, static_cast<adverb::gid_index>(given.gid_index)};
  // The first pair of a process has costs that occur once.
  const std::vector<ready_pair> first = set_up(on, 1);

  const marks before = mark_start();
  std::vector<ready_pair> pairs = set_up(on, given.size.queue_pairs);
  const marks ready = mark_end();
  const double start = microseconds();
  write_over_all(on, pairs, given.size.messages);
  report(given.size, &before, &ready, start, microseconds());
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
