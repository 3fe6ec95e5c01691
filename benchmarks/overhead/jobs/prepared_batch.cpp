// SPDX-License-Identifier: MIT
// Seven writes and the send that announces them, with one doorbell: prepared as a batch, changed in
// the differing fields, and posted again.
#include <utility>

#include "job.hpp"

namespace {

constexpr std::uint64_t writes = 7;

/// Posts chains that `fill` writes; the C of both sides differs in that alone.
/// Writes what does not change.
void fill(ibv_sge* element, ibv_send_wr* request, const overhead::c_objects& c) {
#pragma GCC unroll 8
  for (std::uint64_t each = 0; each <= writes; ++each) {
    element[each].addr = c.memory;
    element[each].length = 64;
    element[each].lkey = c.local_key;
    request[each].next = each < writes ? &request[each + 1] : nullptr;
    request[each].sg_list = &element[each];
    request[each].num_sge = 1;
    request[each].opcode = each < writes ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
    request[each].send_flags = each < writes ? 0 : IBV_SEND_SIGNALED;
    if (each < writes) request[each].wr.rdma.rkey = c.remote_key;
  }
}

std::uint64_t kept_in_c(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element[writes + 1];
  ibv_send_wr request[writes + 1];
  fill(element, request, c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t there = c.remote_address + overhead::offset_of(index);
#pragma GCC unroll 8
    for (std::uint64_t each = 0; each <= writes; ++each) {
      request[each].wr_id = index;
      if (each < writes) request[each].wr.rdma.remote_addr = there + each * 64;
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.pair, request, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t anew_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::uint64_t there = c.remote_address + overhead::offset_of(index);
    ibv_sge element[writes + 1];
    ibv_send_wr request[writes + 1];
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
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c.pair, request, &bad) != 0 || bad != nullptr) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const auto here = my.region.unchecked_slice(0, 64);
  const auto each = write(my.remote, here);
  adverb::prepared_batch batch{each, each, each, each, each, each, each, send(here).signaled()};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto there = my.remote.unchecked_slice(overhead::offset_of(index) / 8, writes * 8);
    [&]<std::size_t... Each>(std::index_sequence<Each...>) {
      (batch.request<Each>().move_remote(there.unchecked_slice(Each * 8, 8)).id(index), ...);
    }(std::make_index_sequence<writes>{});
    batch.request<writes>().id(index);
    if (!my.pair.post(batch)) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "prepared batch of 8, posted again",
                                   .careful_bar = 1.00,
                                   .reached = 1.03,
                                   .ordinary_bar = 0.65,
                                   .careful = kept_in_c,
                                   .ordinary = anew_in_c,
                                   .with_adverb = with_adverb}};

}  // namespace
