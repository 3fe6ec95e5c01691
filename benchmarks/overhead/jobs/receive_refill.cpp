// SPDX-License-Identifier: MIT
// A round of completions, whose blocks go back to the receive queue 16 at a time. Careful C keeps
// its requests linked, too; ordinary C makes them anew.
#include <cstring>

#include "job.hpp"

namespace {

constexpr std::uint64_t batch = 16;

/// What a round brings: as many blocks, in some order.
[[nodiscard]] std::uint64_t block_of(std::uint64_t round, std::uint64_t index) {
  return (round * 7 + index * 5) % overhead::block_count;
}

std::uint64_t careful(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element[batch];
  ibv_recv_wr request[batch];
  for (std::uint64_t index = 0; index < batch; ++index) {
    element[index].length = overhead::block_size;
    element[index].lkey = c.local_key;
    request[index].next = index + 1 < batch ? &request[index + 1] : nullptr;
    request[index].sg_list = &element[index];
    request[index].num_sge = 1;
  }
  std::uint64_t gathered = 0;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t block = block_of(index / batch, index);
    if (block >= overhead::block_count) break;
    element[gathered].addr = c.memory + block * overhead::block_size;
    request[gathered].wr_id = block;
    if (++gathered < batch) continue;
    gathered = 0;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(c.pair, request, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t ordinary(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element[batch];
  ibv_recv_wr request[batch];
  std::uint64_t gathered = 0;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t block = block_of(index / batch, index);
    if (block >= overhead::block_count) break;
    std::memset(&element[gathered], 0, sizeof element[gathered]);
    element[gathered].addr = c.memory + block * overhead::block_size;
    element[gathered].length = overhead::block_size;
    element[gathered].lkey = c.local_key;
    std::memset(&request[gathered], 0, sizeof request[gathered]);
    request[gathered].wr_id = block;
    request[gathered].sg_list = &element[gathered];
    request[gathered].num_sge = 1;
    if (gathered > 0) request[gathered - 1].next = &request[gathered];
    if (++gathered < batch) continue;
    gathered = 0;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(c.pair, request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  adverb::receive_refill receives{
      my.pair, my.region.blocks(overhead::block_size), {.batch = batch}};
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (!receives.give_back(block_of(index / batch, index))) break;
  return index;
}

// The C here has the size and the number of blocks as constants. What serves any region loads them,
// multiplies, and checks the number that it is given.
const overhead::listed_job listed{{.name = "receive given back, posted 16 at a time",
                                   .careful_bar = 1.50,
                                   .careful = careful,
                                   .ordinary = ordinary,
                                   .with_adverb = with_adverb}};

}  // namespace
