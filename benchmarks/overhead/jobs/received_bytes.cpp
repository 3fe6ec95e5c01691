// SPDX-License-Identifier: MIT
// A round of completions, of which those of receives name bytes of a region. Over the classic
// calls, and over the extended ones.
#include "job.hpp"

namespace {

constexpr std::size_t round_size = overhead::completions_a_round;

/// The ids of the completions are numbers of small blocks.
constexpr std::uint64_t block_size = 64;

/// The numbers that a program in C keeps, to find the block of a completion.
struct receives {
  std::uint64_t memory;
  std::uint64_t block_count;
  std::uint64_t block_size;
};
[[gnu::noinline]] void set_up(receives& all, overhead::c_objects c) {
  all = {c.memory, c.memory_size / block_size, block_size};
}

/// Uses the bytes of a message.
[[nodiscard]] std::uint64_t sum_of(std::uint64_t address, std::uint64_t size) {
  return address + size;
}

/// Adds the bytes of a message to a sum. Returns false if there is no such block.
[[nodiscard]] bool add(const receives& all, std::uint64_t block, std::uint32_t length,
                       std::uint64_t& sum) {
  if (block >= all.block_count) return false;
  sum += sum_of(all.memory + block * all.block_size, length);
  return true;
}

std::uint64_t classic_in_c(overhead::c_objects c, std::uint64_t count) {
  receives all;
  set_up(all, c);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < count; ++round) {
    ibv_wc done[round_size];
    const int found = ibv_poll_cq(c.queue, round_size, done);
    for (int index = 0; index < found; ++index) {
      if (done[index].status != IBV_WC_SUCCESS) return 0;
      if (done[index].opcode == IBV_WC_RECV) {
        if (!add(all, done[index].wr_id, done[index].byte_len, sum)) return 0;
      } else if (done[index].opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
        if (!add(all, done[index].wr_id, 0, sum)) return 0;
      }
    }
  }
  return sum;
}

std::uint64_t extended_in_c(overhead::c_objects c, std::uint64_t count) {
  receives all;
  set_up(all, c);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < count; ++round) {
    ibv_poll_cq_attr attributes;
    attributes.comp_mask = 0;
    int result = ibv_start_poll(c.extended, &attributes);
    if (result != 0) return 0;
    do {
      if (c.extended->status != IBV_WC_SUCCESS) return 0;
      const ibv_wc_opcode opcode = ibv_wc_read_opcode(c.extended);
      if (opcode == IBV_WC_RECV) {
        if (!add(all, c.extended->wr_id, ibv_wc_read_byte_len(c.extended), sum)) return 0;
      } else if (opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
        if (!add(all, c.extended->wr_id, 0, sum)) return 0;
      }
      result = ibv_next_poll(c.extended);
    } while (result == 0);
    ibv_end_poll(c.extended);
  }
  return sum;
}

using refill = adverb::receive_refill<adverb::shared_receive_queue_ref>;

/// Adds the bytes of a completion if it is that of a receive.
void add(const refill& receives, const auto& done, std::uint64_t& sum) {
  done.check();
  const auto message = done.success().receive();
  if (!message) return;
  const std::span<const std::byte> bytes = receives.bytes(done, message);
  sum += sum_of(reinterpret_cast<std::uintptr_t>(bytes.data()), bytes.size());
}

std::uint64_t classic(overhead::adverb_objects my, std::uint64_t count) {
  const refill receives{my.shared, my.region.blocks(block_size)};
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < count; ++round)
    my.queue.poll(adverb::up_to<round_size>, [&](const auto& done) { add(receives, done, sum); });
  return sum;
}

std::uint64_t extended(overhead::adverb_objects my, std::uint64_t count) {
  const refill receives{my.shared, my.region.blocks(block_size)};
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < count; ++round)
    for (const auto& done : my.extended.poll()) add(receives, done, sum);
  return sum;
}

constexpr std::uint64_t operations = 1 + round_size + round_size / 2;
const overhead::listed_job listed_classic{{.name = "bytes of 8 receives among 16 completions",
                                           .careful_bar = 1.05,
                                           .operations = operations,
                                           .careful = classic_in_c,
                                           .ordinary = classic_in_c,
                                           .with_adverb = classic}};
const overhead::listed_job listed_extended{{.name = "bytes of 8 receives among 16, extended",
                                            .careful_bar = 1.05,
                                            .operations = operations,
                                            .careful = extended_in_c,
                                            .ordinary = extended_in_c,
                                            .with_adverb = extended}};

}  // namespace
