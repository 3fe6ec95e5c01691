// SPDX-License-Identifier: MIT
// Both atomic operations.
#include <cstring>

#include "job.hpp"

namespace {

template <ibv_wr_opcode Opcode, bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    ibv_sge element;
    if (Zeroed) std::memset(&element, 0, sizeof element);
    element.addr = c.memory + offset;
    element.length = 8;
    element.lkey = c.local_key;
    ibv_send_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = Opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic.remote_addr = c.remote_address + offset;
    request.wr.atomic.compare_add = index;
    if (Opcode == IBV_WR_ATOMIC_CMP_AND_SWP) request.wr.atomic.swap = index + 1;
    request.wr.atomic.rkey = c.remote_key;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t swap_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const auto result = my.region.unchecked_slice(offset, 8);
    const auto there = my.remote.unchecked_slice(offset / 8, 1);
    const auto request = compare_and_swap(there, {.expected = index, .desired = index + 1}, result);
    if (!my.pair.post(request.id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed_swap{{.name = "compare and swap",
                                        .careful_bar = 1.00,
                                        .careful = in_c<IBV_WR_ATOMIC_CMP_AND_SWP, false>,
                                        .ordinary = in_c<IBV_WR_ATOMIC_CMP_AND_SWP, true>,
                                        .with_adverb = swap_with_adverb}};

std::uint64_t add_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const auto result = my.region.unchecked_slice(offset, 8);
    const auto there = my.remote.unchecked_slice(offset / 8, 1);
    if (!my.pair.post(fetch_and_add(there, index, result).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed_add{{.name = "fetch and add",
                                       .careful_bar = 1.00,
                                       .careful = in_c<IBV_WR_ATOMIC_FETCH_AND_ADD, false>,
                                       .ordinary = in_c<IBV_WR_ATOMIC_FETCH_AND_ADD, true>,
                                       .with_adverb = add_with_adverb}};

}  // namespace
