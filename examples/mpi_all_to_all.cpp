// SPDX-License-Identifier: MIT
// Sends from every rank of an MPI job to every other rank at once. MPI starts the ranks and carries
// the data to connect them. The entries go by RDMA writes into rings in the memory of their
// readers, which check each byte.
//
//     mpirun -n 4 mpi_all_to_all
//     mpirun --host node1:2,node2:2 mpi_all_to_all --connect cm
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/device_options.hpp"
#include "common/limits.hpp"
#include "common/patience.hpp"
#include "common/rank_entry.hpp"
#include "common/ring_peer.hpp"

namespace {

namespace cm = adverb::cm;
using adverb::transport;
using examples::rank_entry;
using examples::ring_peer;
using pair = adverb::queue_pair<transport::rc>;
using pair_in_init = adverb::queue_pair<transport::rc, adverb::qp_state::init>;
using connection = cm::connection<transport::rc, cm::pair_owner::program>;

enum class wiring : std::uint8_t { endpoints, cm };
constexpr std::array<const char*, 2> wirings{"endpoints", "cm"};

struct mesh_options : examples::device_options {
  wiring connect = wiring::endpoints;
  examples::ring_options ring{};
  std::uint32_t rounds = 1000;
  std::uint32_t seed = 1;
};

/// Sends one value to each rank, and returns the value that each rank sent.
template <class Value>
std::vector<Value> exchange(const std::vector<Value>& mine) {
  std::vector<Value> theirs(mine.size());
  MPI_Alltoall(mine.data(), sizeof(Value), MPI_BYTE, theirs.data(), sizeof(Value), MPI_BYTE,
               MPI_COMM_WORLD);
  return theirs;
}

/// Returns the first address of a device that other hosts can reach.
cm::socket_address address_of(std::string_view device) {
  for (const cm::local_address& each : cm::local_addresses())
    if (std::string_view{each.device} == device && !each.address.is_link_local())
      return each.address;
  throw std::runtime_error{std::string{device} + " has no IP address for --connect cm"};
}

/// This rank, with a queue pair and a ring in each direction for each other rank.
class mesh {
 public:
  mesh(const mesh_options& options, std::uint32_t me, std::uint32_t ranks)
      : options_{options}, me_{me}, ranks_{ranks} {
    const adverb::port_attributes port = examples::active_port(device_, options.port);
    examples::check_limit("--size", options.ring.slot_size, port.max_message_size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (rank != me) peers_.emplace_back(domain_, options.ring, rank);
    std::vector<std::array<std::byte, ring_peer::memory::encoded_size>> rings(ranks_);
    for (const ring_peer& each : peers_) rings[each.rank()] = each.incoming().encode();
    rings = exchange(rings);
    for (ring_peer& each : peers_) each.write_to(ring_peer::memory::decode(rings[each.rank()]));
    options.connect == wiring::cm ? connect_by_cm() : connect_by_endpoints();
    MPI_Barrier(MPI_COMM_WORLD);  // Now each rank has posted its receives.
  }

  /// Writes to all peers and checks what they write, until all has arrived. Returns the number of
  /// bytes that were checked.
  std::uint64_t run() {
    std::uint64_t checked = 0;
    std::size_t busy = peers_.size();
    for (ring_peer& each : peers_) send_entries(each);
    while (busy != 0) {
      const adverb::completion done = completions_.next();
      ring_peer& from = *done.pointer<ring_peer>();
      if (const auto entry = from.take(done); !entry.empty()) {
        rank_entry{options_.seed, from.rank(), me_, from.received() - 1}.check(entry);
        checked += entry.size();
      }
      from.release();
      send_entries(from);
      if (from.received() == options_.rounds && from.sent() == options_.rounds && from.is_idle())
        --busy;
    }
    return checked;
  }

 private:
  [[nodiscard]] auto new_pair() const {
    return pair::create(domain_, {.cq = completions_.queue(),
                                  .max_send_wr = options_.ring.sends(),
                                  .max_recv_wr = options_.ring.receives()});
  }

  /// MPI carries an endpoint for each pair of ranks.
  void connect_by_endpoints() {
    std::vector<pair_in_init> waiting;
    std::vector<std::array<std::byte, adverb::endpoint::encoded_size>> ends(ranks_);
    for (const ring_peer& each : peers_) {
      auto fresh = new_pair();
      waiting.push_back(fresh.init()
                            .port(options_.port)
                            .gid(options_.gid)
                            .allow(adverb::access_right::remote_write)
                            .apply());
      ends[each.rank()] = waiting.back().endpoint().encode();
    }
    ends = exchange(ends);
    for (ring_peer& each : peers_) {
      const auto theirs = adverb::endpoint::decode(ends[each.rank()]);
      each.start(pairs_.emplace_back(waiting[pairs_.size()].connect(theirs)));
    }
  }

  /// MPI carries the address of each rank. A rank connects to those before it, and then accepts
  /// those behind it.
  void connect_by_cm() {
    const auto listener = cm::listener<transport::rc>::create(address_of(device_.device().name()));
    const cm::socket_address mine = listener.local_address();
    std::vector<cm::socket_address> addresses(ranks_);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, addresses.data(), sizeof mine, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (ring_peer& each : peers_) {
      if (each.rank() > me_) break;
      auto route = cm::connector<transport::rc>::resolve(addresses[each.rank()],
                                                         {.from = mine.with_port(0)});
      auto ready = route.use_queue_pair(new_pair());
      auto connected = ready.connect({.private_data = cm::private_data::of(me_)});
      each.start(connections_.emplace_back(std::move(connected)).queue_pair());
    }
    while (connections_.size() < peers_.size()) {
      auto request = listener.next_request(examples::patience);
      const auto rank = request.private_data().as<std::uint32_t>();
      for (ring_peer& each : peers_) {
        if (each.rank() != rank) continue;
        auto ready = request.use_queue_pair(new_pair());
        each.start(connections_.emplace_back(ready.accept()).queue_pair());
      }
    }
  }

  void send_entries(ring_peer& to) const {
    while (to.sent() < options_.rounds) {
      const std::span<std::byte> slot = to.claim();
      if (slot.empty()) return;
      rank_entry{options_.seed, me_, to.rank(), to.sent()}.fill(slot);
      to.publish();
    }
  }

  const mesh_options& options_;
  std::uint32_t me_;
  std::uint32_t ranks_;
  adverb::context device_ = adverb::open_device(options_.device);
  adverb::protection_domain domain_{device_};
  examples::completions completions_{device_, options_.ring.completions() * ranks_, true};
  std::deque<ring_peer> peers_;
  std::vector<pair> pairs_;
  std::vector<connection> connections_;
};

void run(const mesh_options& options, std::uint32_t me, std::uint32_t ranks) {
  if (ranks < 2) throw examples::wrong_argument{"a single rank has no peers; use mpirun -n 2"};
  mesh all{options, me, ranks};
  const double start = MPI_Wtime();
  const std::uint64_t checked = all.run();
  // Also a barrier: queue pairs are destroyed when each rank has its last acknowledgement.
  std::uint64_t sum = 0;
  MPI_Allreduce(&checked, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0)
    std::printf("%u ranks wrote %llu bytes in %.3f s; each byte is right\n", ranks,
                static_cast<unsigned long long>(sum), MPI_Wtime() - start);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Sends from every rank of an MPI job to every other rank.",
                                   "mpi_all_to_all"};
  mesh_options options;
  arguments.add_choice("-c,--connect", options.connect, wirings,
                       "What connects the ranks: endpoints that MPI carries, or librdmacm (cm)");
  options.add_to(arguments);
  arguments.add_number("-s,--size", options.ring.slot_size, 1, examples::unlimited,
                       "Size of an entry, in bytes");
  arguments.add_number("-n,--rounds", options.rounds, 1, 1U << 30,
                       "Number of entries from each rank to each other rank");
  arguments.add_number("--slots", options.ring.slots, 1, 1U << 20, "Number of slots of a ring");
  arguments.add_number("--seed", options.seed, 0, 0xffffffff, "Changes the bytes of the entries");
  arguments.add_footer("mpirun starts the ranks, all with the same options.");
  bool is_running = false;
  const int status = examples::run(arguments, argc, argv, [&] {
    int me = 0;
    int ranks = 0;
    MPI_Init(nullptr, nullptr);
    is_running = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    run(options, static_cast<std::uint32_t>(me), static_cast<std::uint32_t>(ranks));
    MPI_Finalize();
  });
  // A rank that fails ends the job.
  if (is_running && status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}
