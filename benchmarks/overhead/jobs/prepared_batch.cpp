// SPDX-License-Identifier: MIT
// Seven writes and the send that tells of them, with one doorbell: prepared as a batch, changed
// where they differ, and posted again.
#include <cstring>
#include <utility>

#include "job.hpp"

namespace {

constexpr std::uint64_t writes = 7;

/// Posts chains that `fill` writes; the C of both sides differs in that alone.
template <class Fill>
std::uint64_t post_chains(overhead::c_objects c, std::uint64_t count, const Fill& fill) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element[writes + 1];
    ibv_send_wr request[writes + 1];
    fill(element, request, index);
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.pair, request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t careful(overhead::c_objects c, std::uint64_t count) {
  return post_chains(c, count, [&](ibv_sge* element, ibv_send_wr* request, std::uint64_t index) {
    const std::uint64_t there = c.remote_address + overhead::offset_of(index);
#pragma GCC unroll 8
    for (std::uint64_t each = 0; each <= writes; ++each) {
      element[each].addr = c.memory;
      element[each].length = 64;
      element[each].lkey = c.local_key;
      request[each].wr_id = index;
      request[each].next = each < writes ? &request[each + 1] : nullptr;
      request[each].sg_list = &element[each];
      request[each].num_sge = 1;
      request[each].opcode = each < writes ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
      request[each].send_flags = each < writes ? 0 : IBV_SEND_SIGNALED;
      if (each < writes) {
        request[each].wr.rdma.remote_addr = there + each * 64;
        request[each].wr.rdma.rkey = c.remote_key;
      }
    }
  });
}

std::uint64_t ordinary(overhead::c_objects c, std::uint64_t count) {
  return post_chains(c, count, [&](ibv_sge* element, ibv_send_wr* request, std::uint64_t index) {
    const std::uint64_t there = c.remote_address + overhead::offset_of(index);
    std::memset(element, 0, (writes + 1) * sizeof *element);
    std::memset(request, 0, (writes + 1) * sizeof *request);
    for (std::uint64_t each = 0; each <= writes; ++each) {
      element[each].addr = c.memory;
      element[each].length = 64;
      element[each].lkey = c.local_key;
      request[each].wr_id = index;
      request[each].sg_list = &element[each];
      request[each].num_sge = 1;
      if (each < writes) {
        request[each].next = &request[each + 1];
        request[each].opcode = IBV_WR_RDMA_WRITE;
        request[each].wr.rdma.remote_addr = there + each * 64;
        request[each].wr.rdma.rkey = c.remote_key;
      } else {
        request[each].opcode = IBV_WR_SEND;
        request[each].send_flags = IBV_SEND_SIGNALED;
      }
    }
  });
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const auto here = my.region.unchecked_slice(0, 64);
  const auto each = write(my.remote, here);
  adverb::prepared_batch batch{each, each, each, each, each, each, each, send(here).signaled()};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto there = my.remote.unchecked_slice(overhead::offset_of(index) / 8, writes * 8);
    [&]<std::size_t... Each>(std::index_sequence<Each...>) {
      (batch.request<Each>().remote(there.unchecked_slice(Each * 8, 8)).id(index), ...);
    }(std::make_index_sequence<writes>{});
    batch.request<writes>().id(index);
    if (!my.pair.post(batch)) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "prepared batch of 8, posted again",
                                   .careful_bar = 0.65,
                                   .ordinary_bar = 0.50,
                                   .careful = careful,
                                   .ordinary = ordinary,
                                   .with_adverb = with_adverb}};

}  // namespace
