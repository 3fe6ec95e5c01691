// SPDX-License-Identifier: MIT
// One write from the same memory each time, with an id and a remote address of its own: prepared,
// changed where it differs, and posted again. C keeps its request, too, or builds it anew.
#include "job.hpp"

namespace {

std::uint64_t kept_in_c(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element;
  element.addr = c.memory;
  element.length = overhead::block_size;
  element.lkey = c.local_key;
  ibv_send_wr request;
  request.next = nullptr;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.rkey = c.remote_key;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.wr_id = index;
    request.wr.rdma.remote_addr = c.remote_address + overhead::offset_of(index);
    ibv_send_wr* bad;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t anew_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element;
    element.addr = c.memory;
    element.length = overhead::block_size;
    element.lkey = c.local_key;
    ibv_send_wr request;
    request.wr_id = index;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = c.remote_address + overhead::offset_of(index);
    request.wr.rdma.rkey = c.remote_key;
    ibv_send_wr* bad;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  constexpr std::size_t words = overhead::block_size / 8;
  adverb::prepared_request request{
      write(my.remote, my.region.unchecked_slice(0, overhead::block_size)).signaled()};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.move_remote(my.remote.unchecked_slice(overhead::offset_of(index) / 8, words)).id(index);
    if (!my.pair.post(request)) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "prepared write, posted again",
                                   .careful_bar = 1.00,
                                   .ordinary_bar = 0.65,
                                   .careful = kept_in_c,
                                   .ordinary = anew_in_c,
                                   .with_adverb = with_adverb}};

}  // namespace
