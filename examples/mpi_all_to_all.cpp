// SPDX-License-Identifier: MIT
// Sends from every rank of an MPI job to every other rank at once. MPI starts the ranks and carries
// the data to connect them. The entries go by RDMA writes into rings in the memory of their
// readers (adverb::remote_ring), which check each byte.
//
//     mpirun -n 4 mpi_all_to_all
//     mpirun --host node1:2,node2:2 mpi_all_to_all --connect cm
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <adverb/adverb.hpp>
#include <adverb/remote.hpp>

#include "common/command_line.hpp"
#include "common/device_options.hpp"
#include "common/limits.hpp"
#include "common/patience.hpp"
#include "common/rank_entry.hpp"

namespace {

namespace async = adverb::async;
namespace cm = adverb::cm;
using adverb::transport;
using examples::patience;
using examples::rank_entry;
using pair_in_init = adverb::queue_pair<transport::rc, adverb::qp_state::init>;
using ring = adverb::remote_ring<std::byte>;

enum class wiring : std::uint8_t { endpoints, cm };
constexpr std::array<const char*, 2> wirings{"endpoints", "cm"};

struct mesh_options : examples::device_options {
  wiring connect = wiring::endpoints;
  adverb::ring_options entries{.slots = 16, .slot_size = 4096};
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

/// Another rank, with a connection, and a ring in each direction.
struct peer {
  std::uint32_t rank;
  async::connection connection{};
  ring::reader incoming{};
  ring::writer outgoing{};
};

/// This rank.
class mesh {
 public:
  mesh(const mesh_options& options, std::uint32_t me, std::uint32_t ranks)
      : options_{options}, me_{me}, ranks_{ranks} {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (rank != me) peers_.push_back({.rank = rank});
    options.connect == wiring::cm ? connect_by_cm() : connect_by_endpoints();
    std::vector<std::array<std::byte, adverb::ring_description::encoded_size>> rings(ranks_);
    for (peer& each : peers_) {
      each.incoming = ring::reader{each.connection, options_.entries};
      rings[each.rank] = each.incoming.description().encode();
    }
    rings = exchange(rings);
    for (peer& each : peers_) {
      // The ranks of a job trust each other, so the peer decides how large its ring is.
      const auto theirs = adverb::ring_description::decode(
          rings[each.rank], std::numeric_limits<std::uint64_t>::max());
      if (theirs.slot_size != options_.entries.slot_size)
        throw std::runtime_error{"rank " + std::to_string(each.rank) + " has entries of " +
                                 std::to_string(theirs.slot_size) + " bytes, not of " +
                                 std::to_string(options_.entries.slot_size)};
      each.outgoing = ring::writer{each.connection, theirs};
    }
  }

  /// Writes to all peers and checks what they write, until all has arrived. Returns the number of
  /// bytes that were checked.
  std::uint64_t run() {
    for (peer& each : peers_) {
      loop_.spawn(write(each));
      loop_.spawn(check(each));
    }
    loop_.run();
    return checked_;
  }

 private:
  async::task<> write(const peer& to) const {
    for (std::uint32_t number = 0; number < options_.rounds; ++number) {
      co_await to.outgoing.room();
      rank_entry{options_.seed, me_, to.rank, number}.fill(
          to.outgoing.claim(options_.entries.slot_size));
      to.outgoing.publish();
      to.connection.expires_after(patience);
    }
    co_await to.outgoing.close();
  }
  async::task<> check(const peer& from) {
    std::uint32_t number = 0;
    while (const auto entry = co_await from.incoming.next()) {
      rank_entry{options_.seed, from.rank, me_, number++}.check(entry.bytes());
      checked_ += entry.bytes().size();
      from.connection.expires_after(patience);
    }
  }

  /// MPI carries an endpoint for each pair of ranks.
  void connect_by_endpoints() {
    const adverb::port_attributes port = examples::active_port(device_, options_.port);
    examples::check_limit("--size", options_.entries.slot_size, port.max_message_size());
    const adverb::completion_queue_ref queue = loop_.queue(device_);
    std::vector<pair_in_init> waiting;
    std::vector<std::array<std::byte, adverb::endpoint::encoded_size>> ends(ranks_);
    for (const peer& each : peers_) {
      auto fresh = adverb::queue_pair<transport::rc>::create(loop_.domain(device_),
                                                             {.send_cq = queue,
                                                              .recv_cq = queue,
                                                              .max_send_wr = sizes_.max_send_wr,
                                                              .max_recv_wr = sizes_.receives});
      waiting.push_back(fresh.init()
                            .port(options_.port)
                            .gid(options_.gid)
                            .allow(adverb::access_right::remote_write)
                            .apply());
      ends[each.rank] = waiting.back().endpoint().encode();
    }
    ends = exchange(ends);
    for (std::size_t i = 0; i < peers_.size(); ++i)
      peers_[i].connection = async::connection{
          loop_, waiting[i].connect(adverb::endpoint::decode(ends[peers_[i].rank])), sizes_};
  }

  /// MPI carries the address of each rank. A rank connects to those before it, and then accepts
  /// those behind it.
  void connect_by_cm() {
    const cm::socket_address address = address_of(device_.device().name());
    async::listener listener{loop_, address};
    const cm::socket_address mine = address.with_port(listener.port());
    std::vector<cm::socket_address> addresses(ranks_);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, addresses.data(), sizeof mine, MPI_BYTE,
                  MPI_COMM_WORLD);
    async::connection_options named = sizes_;
    named.connection.private_data = cm::private_data::of(me_);
    std::size_t connected = 0;
    for (; connected < me_; ++connected) {
      const async::connection& made = peers_[connected].connection =
          async::connect(loop_, addresses[peers_[connected].rank], named).wait();
      // Over iWARP, the side that connects is the first to send.
      made.perform(adverb::send()).wait();
    }
    while (connected < peers_.size()) {
      async::connection_request request = listener.next().wait();
      const auto rank = request.private_data().as<std::uint32_t>();
      for (peer& each : peers_) {
        if (each.rank != rank || each.connection) continue;
        each.connection = request.accept(sizes_).wait();
        static_cast<void>(each.connection.next().wait());
        ++connected;
        break;
      }
    }
  }

  const mesh_options& options_;
  std::uint32_t me_;
  std::uint32_t ranks_;
  async::connection_options sizes_{.receives = options_.entries.receives(), .block_size = 256};
  std::uint64_t checked_ = 0;
  adverb::context device_ = adverb::open_device(options_.device);
  async::event_loop loop_;
  std::vector<peer> peers_;
};

void run(const mesh_options& options, std::uint32_t me, std::uint32_t ranks) {
  if (ranks < 2) throw examples::wrong_argument{"a single rank has no peers; use mpirun -n 2"};
  mesh all{options, me, ranks};
  const double start = MPI_Wtime();
  const std::uint64_t checked = all.run();
  // Also a barrier: connections are destroyed when each rank has its last acknowledgement.
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
  arguments.add_number("-s,--size", options.entries.slot_size, 1, examples::unlimited,
                       "Size of an entry, in bytes");
  arguments.add_number("-n,--rounds", options.rounds, 1, 1U << 30,
                       "Number of entries from each rank to each other rank");
  arguments.add_number("--slots", options.entries.slots, 1, 1U << 20, "Number of slots of a ring");
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
