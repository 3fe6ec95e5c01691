// SPDX-License-Identifier: MIT
// One write of one element.
#include <cstring>

#include "job.hpp"

namespace {

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    ibv_sge element;
    if (Zeroed) std::memset(&element, 0, sizeof element);
    element.addr = c.memory + offset;
    element.length = overhead::length_of(index);
    element.lkey = c.local_key;
    ibv_send_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = c.remote_address + offset;
    request.wr.rdma.rkey = c.remote_key;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const auto block = my.region.unchecked_slice(offset, overhead::length_of(index));
    const auto there = my.remote.unchecked_slice(offset / 8, overhead::block_size / 8);
    if (!my.pair.post(write(there, block).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "write",
                                   .careful_bar = 1.00,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
