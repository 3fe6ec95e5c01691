// SPDX-License-Identifier: MIT
// Eight requests of several kinds, posted with one call. Both sides look at what was refused,
// because one provider (siw) returns 0 when a later request was.
#include <cstring>

#include <endian.h>

#include "job.hpp"

namespace {

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const std::uint32_t tag = htobe32(static_cast<std::uint32_t>(index));
    ibv_sge elements[8];
    ibv_send_wr requests[8];
    if (Zeroed) std::memset(elements, 0, sizeof elements);
    if (Zeroed) std::memset(requests, 0, sizeof requests);

    elements[0].addr = c.memory + offset + 0;
    elements[0].length = length;
    elements[0].lkey = c.local_key;
    requests[0].wr_id = index + 0;
    requests[0].next = &requests[1];
    requests[0].sg_list = &elements[0];
    requests[0].num_sge = 1;
    requests[0].opcode = IBV_WR_SEND;
    if (!Zeroed) requests[0].send_flags = 0;

    elements[1].addr = c.memory + offset + 256;
    elements[1].length = length;
    elements[1].lkey = c.local_key;
    requests[1].wr_id = index + 1;
    requests[1].next = &requests[2];
    requests[1].sg_list = &elements[1];
    requests[1].num_sge = 1;
    requests[1].opcode = IBV_WR_RDMA_WRITE;
    if (!Zeroed) requests[1].send_flags = 0;
    requests[1].wr.rdma.remote_addr = c.remote_address + offset + 256;
    requests[1].wr.rdma.rkey = c.remote_key;

    elements[2].addr = c.memory + offset + 512;
    elements[2].length = length;
    elements[2].lkey = c.local_key;
    requests[2].wr_id = index + 2;
    requests[2].next = &requests[3];
    requests[2].sg_list = &elements[2];
    requests[2].num_sge = 1;
    requests[2].opcode = IBV_WR_RDMA_READ;
    if (!Zeroed) requests[2].send_flags = 0;
    requests[2].wr.rdma.remote_addr = c.remote_address + offset + 512;
    requests[2].wr.rdma.rkey = c.remote_key;

    elements[3].addr = c.memory + offset + 768;
    elements[3].length = length;
    elements[3].lkey = c.local_key;
    requests[3].wr_id = index + 3;
    requests[3].next = &requests[4];
    requests[3].sg_list = &elements[3];
    requests[3].num_sge = 1;
    requests[3].opcode = IBV_WR_SEND_WITH_IMM;
    requests[3].send_flags = IBV_SEND_SOLICITED;
    requests[3].imm_data = tag;

    elements[4].addr = c.memory + offset + 1024;
    elements[4].length = length;
    elements[4].lkey = c.local_key;
    requests[4].wr_id = index + 4;
    requests[4].next = &requests[5];
    requests[4].sg_list = &elements[4];
    requests[4].num_sge = 1;
    requests[4].opcode = IBV_WR_RDMA_WRITE;
    if (!Zeroed) requests[4].send_flags = 0;
    requests[4].wr.rdma.remote_addr = c.remote_address + offset + 1024;
    requests[4].wr.rdma.rkey = c.remote_key;

    elements[5].addr = c.memory + offset + 1280;
    elements[5].length = 8;
    elements[5].lkey = c.local_key;
    requests[5].wr_id = index + 5;
    requests[5].next = &requests[6];
    requests[5].sg_list = &elements[5];
    requests[5].num_sge = 1;
    requests[5].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    if (!Zeroed) requests[5].send_flags = 0;
    requests[5].wr.atomic.remote_addr = c.remote_address + offset + 1280;
    requests[5].wr.atomic.compare_add = index;
    requests[5].wr.atomic.rkey = c.remote_key;

    elements[6].addr = c.memory + offset + 1536;
    elements[6].length = length;
    elements[6].lkey = c.local_key;
    requests[6].wr_id = index + 6;
    requests[6].next = &requests[7];
    requests[6].sg_list = &elements[6];
    requests[6].num_sge = 1;
    requests[6].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    if (!Zeroed) requests[6].send_flags = 0;
    requests[6].imm_data = tag;
    requests[6].wr.rdma.remote_addr = c.remote_address + offset + 1536;
    requests[6].wr.rdma.rkey = c.remote_key;

    elements[7].addr = c.memory + offset + 1792;
    elements[7].length = length;
    elements[7].lkey = c.local_key;
    requests[7].wr_id = index + 7;
    if (!Zeroed) requests[7].next = nullptr;
    requests[7].sg_list = &elements[7];
    requests[7].num_sge = 1;
    requests[7].opcode = IBV_WR_SEND;
    requests[7].send_flags = IBV_SEND_SIGNALED;

    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.pair, requests, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t offset = overhead::offset_of(index);
    const std::uint32_t length = overhead::length_of(index);
    const adverb::immediate tag{static_cast<std::uint32_t>(index)};
    const auto blocks = my.region.unchecked_slice(offset, 8 * overhead::block_size);
    const auto words = my.remote.unchecked_slice(offset / 8, overhead::block_size);
    const auto here = [&](unsigned block) {
      return blocks.unchecked_slice(block * overhead::block_size, length);
    };
    const auto there = [&](unsigned block) {
      return words.unchecked_slice(block * overhead::block_size / 8, overhead::block_size / 8);
    };
    const auto sum = blocks.unchecked_slice(5 * overhead::block_size, 8);
    if (!my.pair.post(send(here(0)).id(index), write(there(1), here(1)).id(index + 1),
                      read(there(2), here(2)).id(index + 2),
                      send_with_immediate(tag, here(3)).id(index + 3).solicited(),
                      write(there(4), here(4)).id(index + 4),
                      fetch_and_add(there(5), index, sum).id(index + 5),
                      write_with_immediate(there(6), tag, here(6)).id(index + 6),
                      send(here(7)).id(index + 7).signaled()))
      break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "chain of 8 mixed requests",
                                   .careful_bar = 1.10,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
