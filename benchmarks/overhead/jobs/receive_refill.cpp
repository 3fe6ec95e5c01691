// SPDX-License-Identifier: MIT
// A round of completions, whose blocks go back to the receive queue 16 at a time. Careful C keeps
// its requests linked, too; ordinary C makes them anew.
#include <cstring>

#include "job.hpp"

namespace {

constexpr std::uint64_t batch_size = 16;

/// The blocks of a round, in some order.
[[nodiscard]] std::uint64_t block_of(std::uint64_t round, std::uint64_t index) {
  return (round * 7 + index * 5) % overhead::block_count;
}

/// The state that a program in C keeps. It gets these numbers at run time, from its options or from
/// the device.
struct receives {
  ibv_qp* pair;
  std::uint64_t memory;
  std::uint64_t block_count;
  std::uint64_t batch;
  std::uint64_t gathered;
  std::uint32_t block_size;
  std::uint32_t key;
  ibv_sge* elements;
  ibv_recv_wr* requests;
};
[[gnu::noinline]] void set_up(receives& all, overhead::c_objects c) {
  // This memory replaces the allocations of such a program.
  static ibv_sge elements[batch_size];
  static ibv_recv_wr requests[batch_size];
  all = {c.pair,      c.memory, overhead::block_count,
         batch_size,  0,        overhead::block_size,
         c.local_key, elements, requests};
  for (std::uint64_t index = 0; index < batch_size; ++index) {
    elements[index].length = all.block_size;
    elements[index].lkey = all.key;
    requests[index].next = index + 1 < batch_size ? &requests[index + 1] : nullptr;
    requests[index].sg_list = &elements[index];
    requests[index].num_sge = 1;
  }
}

[[nodiscard]] inline bool post_gathered(receives& all) {
  all.gathered = 0;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(all.pair, all.requests, &bad) == 0 && bad == nullptr;
}

[[nodiscard]] inline bool give_back(receives& all, std::uint64_t block) {
  if (block >= all.block_count) return false;
  all.elements[all.gathered].addr = all.memory + block * all.block_size;
  all.requests[all.gathered].wr_id = block;
  return ++all.gathered < all.batch || post_gathered(all);
}

[[nodiscard]] inline bool give_back_anew(receives& all, std::uint64_t block) {
  if (block >= all.block_count) return false;
  ibv_sge& element = all.elements[all.gathered];
  std::memset(&element, 0, sizeof element);
  element.addr = all.memory + block * all.block_size;
  element.length = all.block_size;
  element.lkey = all.key;
  ibv_recv_wr& request = all.requests[all.gathered];
  std::memset(&request, 0, sizeof request);
  request.wr_id = block;
  request.sg_list = &element;
  request.num_sge = 1;
  if (all.gathered > 0) all.requests[all.gathered - 1].next = &request;
  return ++all.gathered < all.batch || post_gathered(all);
}

receives kept;
// It outlives every loop, and the compiler must assume that other code reads it.
receives* volatile where_receives_are = &kept;

template <auto GiveBack>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  receives* const all = where_receives_are;
  set_up(*all, c);
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (!GiveBack(*all, block_of(index / batch_size, index))) break;
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  adverb::receive_refill receives{
      my.pair, my.region.blocks(overhead::block_size), {.batch = batch_size}};
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (!receives.give_back(block_of(index / batch_size, index))) break;
  return index;
}

const overhead::listed_job listed{{.name = "receive given back, posted 16 at a time",
                                   .careful_bar = 1.10,
                                   .careful = in_c<give_back>,
                                   .ordinary = in_c<give_back_anew>,
                                   .with_adverb = with_adverb}};

}  // namespace
