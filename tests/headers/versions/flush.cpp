// SPDX-License-Identifier: MIT
// Flushes, with headers of rdma-core that have them: each field as the provider gets it, which here
// is a pair that is made by hand.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>

using namespace adverb;

namespace {

struct flushed {
  std::uint64_t id;
  unsigned flags;
  std::uint32_t key;
  std::uint64_t address;
  std::size_t length;
  unsigned type;
  unsigned level;
};
std::vector<flushed> flushes;
std::vector<std::uint32_t> shared_receive_queues;
int completed = 0;

/// A pair of a provider that keeps what it is given.
ibv_qp_ex provided() {
  ibv_qp_ex pair{};
  pair.wr_start = [](ibv_qp_ex*) { flushes.clear(); };
  pair.wr_complete = [](ibv_qp_ex*) {
    ++completed;
    return 0;
  };
  pair.wr_abort = [](ibv_qp_ex*) {};
  pair.wr_flush = [](ibv_qp_ex* sender, std::uint32_t key, std::uint64_t address,
                     std::size_t length, std::uint8_t type, std::uint8_t level) {
    flushes.push_back({sender->wr_id, sender->wr_flags, key, address, length, type, level});
  };
  pair.wr_set_xrc_srqn = [](ibv_qp_ex*, std::uint32_t number) {
    shared_receive_queues.push_back(number);
  };
  return pair;
}

constexpr access_rights both = access_right::flush_global | access_right::flush_persistent;
using remote_memory = remote_buffer<std::byte, both | access_right::remote_write>;
constexpr remote_memory remote{adopt, 0x7000, 256, rkey{0x99}};

template <transport Transport>
using flushing = extended_batch<Transport, send_operations{send_operation::flush}>;

}  // namespace

TEST_CASE("A flush has the range, the placement and the key", "[ibv_wr_flush]") {
  ibv_qp_ex pair = provided();
  flushing<transport::rc> batch{&pair};
  batch.add(flush(remote, placement::persistent).signaled().id(3))
      .add(flush(remote.slice(16, 8), placement::global).fenced())
      .add(flush(remote, placement::global | placement::persistent))
      .add(flush_region(remote, placement::persistent));
  completed = 0;
  CHECK(batch.commit().accepted() == 4);
  CHECK(completed == 1);
  REQUIRE(flushes.size() == 4);
  CHECK(flushes[0].id == 3);
  CHECK(flushes[0].flags == IBV_SEND_SIGNALED);
  CHECK(flushes[0].address == 0x7000);
  CHECK(flushes[0].length == 256);
  CHECK(flushes[0].type == IBV_FLUSH_PERSISTENT);
  CHECK(flushes[0].level == IBV_FLUSH_RANGE);
  CHECK(flushes[1].flags == IBV_SEND_FENCE);
  CHECK(flushes[1].address == 0x7010);
  CHECK(flushes[1].length == 8);
  CHECK(flushes[1].type == IBV_FLUSH_GLOBAL);
  CHECK(flushes[2].type == (IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT));
  CHECK(flushes[2].level == IBV_FLUSH_RANGE);
  CHECK(flushes[3].type == IBV_FLUSH_PERSISTENT);
  CHECK(flushes[3].level == IBV_FLUSH_MR);
  for (const flushed& each : flushes) CHECK(each.key == 0x99);
}

TEST_CASE("A range that 32 bits cannot measure is flushed with its region") {
  ibv_qp_ex pair = provided();
  flushing<transport::rc> batch{&pair};
  constexpr std::size_t most = 0xffffffff;
  batch.add(flush(remote_memory{adopt, 0, most, rkey{1}}, placement::global))
      .add(flush(remote_memory{adopt, 0, most + 1, rkey{1}}, placement::global));
  batch.commit().check();
  CHECK(flushes.at(0).level == IBV_FLUSH_RANGE);
  CHECK(flushes.at(0).length == most);
  CHECK(flushes.at(1).level == IBV_FLUSH_MR);
}

TEST_CASE("A flush of an XRC initiator names the shared receive queue") {
  ibv_qp_ex pair = provided();
  flushing<transport::xrc_send> batch{&pair};
  batch.add(flush(remote, placement::global).to(shared_receive_queue_number{0x321}));
  batch.commit().check();
  CHECK(flushes.size() == 1);
  CHECK(shared_receive_queues == std::vector<std::uint32_t>{0x321});
}

TEST_CASE("The numbers are those of the header") {
  CHECK(static_cast<std::uint64_t>(send_operation::flush) == IBV_QP_EX_WITH_FLUSH);
  CHECK(static_cast<std::uint32_t>(completion_opcode::flush) == IBV_WC_FLUSH);
  CHECK(static_cast<std::uint32_t>(access_right::flush_global) == IBV_ACCESS_FLUSH_GLOBAL);
  CHECK(static_cast<std::uint32_t>(access_right::flush_persistent) == IBV_ACCESS_FLUSH_PERSISTENT);
}

TEST_CASE("A pair reports whether its provider has flushes") {
  ibv_qp_ex pair = provided();
  CHECK(detail::operations_among<send_operation::flush>(pair) == send_operation::flush);
  pair.wr_flush = nullptr;
  CHECK(detail::operations_among<send_operation::flush>(pair).empty());
}

TEST_CASE("The struct of an older library is not read beyond its end") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const end = static_cast<std::byte*>(memory) + page;
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);
  ibv_qp_ex whole = provided();
  whole.wr_send = [](ibv_qp_ex*) {};
  constexpr std::size_t old_size = offsetof(ibv_qp_ex, wr_atomic_write);
  std::memcpy(end - old_size, &whole, old_size);
  const auto* const pair = reinterpret_cast<const ibv_qp_ex*>(end - old_size);
  CHECK(detail::operations_among<basic_operations(transport::rc)>(*pair) == send_operation::send);
  CHECK(munmap(memory, 2 * page) == 0);
}
