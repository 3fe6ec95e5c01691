// SPDX-License-Identifier: MIT
// One receive into one element.
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
    ibv_recv_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    ibv_recv_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_recv(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto block =
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
    if (!my.pair.post(receive(block).id(index))) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "receive",
                                   .careful_bar = 1.00,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
