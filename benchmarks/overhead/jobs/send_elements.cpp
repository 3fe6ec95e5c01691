// SPDX-License-Identifier: MIT
// One send of four elements, which the request holds.
#include <cstring>

#include "job.hpp"

namespace {

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge list[4];
    if (Zeroed) std::memset(list, 0, sizeof list);
    list[0].addr = c.memory + overhead::offset_of(index);
    list[0].length = overhead::length_of(index);
    list[0].lkey = c.local_key;
    list[1].addr = c.memory + overhead::offset_of(index + 1);
    list[1].length = overhead::length_of(index + 1);
    list[1].lkey = c.local_key;
    list[2].addr = c.memory + overhead::offset_of(index + 2);
    list[2].length = overhead::length_of(index + 2);
    list[2].lkey = c.local_key;
    list[3].addr = c.memory + overhead::offset_of(index + 3);
    list[3].length = overhead::length_of(index + 3);
    list[3].lkey = c.local_key;
    ibv_send_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = list;
    request.num_sge = 4;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  const auto block = [&](std::uint64_t index) {
    return my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
  };
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto request =
        adverb::send(block(index), block(index + 1), block(index + 2), block(index + 3));
    if (!my.pair.post(request.id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "send of 4 elements",
                                   .careful_bar = 1.10,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
