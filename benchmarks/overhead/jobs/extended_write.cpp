// SPDX-License-Identifier: MIT
// One write through the extended calls, of which C has one way to use them.
#include "job.hpp"

namespace {

std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    ibv_wr_start(c.sender);
    c.sender->wr_id = index;
    c.sender->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(c.sender, c.remote_key, c.remote_address + offset);
    ibv_wr_set_sge(c.sender, c.local_key, c.memory + offset, overhead::length_of(index));
    if (ibv_wr_complete(c.sender) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const auto block = my.region.unchecked_slice(offset, overhead::length_of(index));
    const auto there = my.remote.unchecked_slice(offset / 8, overhead::block_size / 8);
    if (!my.sender.post(write(there, block).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "extended write",
                                   .careful_bar = 1.10,
                                   .careful = in_c,
                                   .ordinary = in_c,
                                   .with_adverb = with_adverb}};

}  // namespace
