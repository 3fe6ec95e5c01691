// SPDX-License-Identifier: MIT
// One receive into a block of its own: prepared, changed where it differs, and posted again.
#include "job.hpp"

namespace {

std::uint64_t kept_in_c(overhead::c_objects c, std::uint64_t count) {
  ibv_sge element;
  element.lkey = c.local_key;
  ibv_recv_wr request;
  request.next = nullptr;
  request.sg_list = &element;
  request.num_sge = 1;
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    element.addr = c.memory + overhead::offset_of(index);
    element.length = overhead::length_of(index);
    request.wr_id = index;
    ibv_recv_wr* bad;
    if (ibv_post_recv(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t anew_in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element;
    element.addr = c.memory + overhead::offset_of(index);
    element.length = overhead::length_of(index);
    element.lkey = c.local_key;
    ibv_recv_wr request;
    request.wr_id = index;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    ibv_recv_wr* bad;
    if (ibv_post_recv(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  adverb::prepared_request request{receive(my.region.unchecked_slice(0, overhead::block_size))};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.id(index).move_payload(
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index)));
    if (!my.pair.post(request)) break;
  }
  return index;
}

// Nearly all of a receive is what changes.
const overhead::listed_job listed{{.name = "prepared receive, posted again",
                                   .careful_bar = 1.00,
                                   .ordinary_bar = 1.00,
                                   .careful = kept_in_c,
                                   .ordinary = anew_in_c,
                                   .with_adverb = with_adverb}};

}  // namespace
