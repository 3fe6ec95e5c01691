// SPDX-License-Identifier: MIT
// One receive into a block of its own: prepared, changed where it differs, and posted again.
#include <cstring>

#include "job.hpp"

namespace {

std::uint64_t careful(overhead::c_objects c, std::uint64_t count) {
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

std::uint64_t ordinary(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element;
    std::memset(&element, 0, sizeof element);
    element.addr = c.memory + overhead::offset_of(index);
    element.length = overhead::length_of(index);
    element.lkey = c.local_key;
    ibv_recv_wr request;
    std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    request.sg_list = &element;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  adverb::prepared_request request{receive(my.region.unchecked_slice(0, overhead::block_size))};
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    request.id(index).payload(
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index)));
    if (!my.pair.post(request)) break;
  }
  return index;
}

// Nearly all of a receive is what changes.
const overhead::listed_job listed{{.name = "prepared receive, posted again",
                                   .careful_bar = 1.00,
                                   .careful = careful,
                                   .ordinary = ordinary,
                                   .with_adverb = with_adverb}};

}  // namespace
