// SPDX-License-Identifier: MIT
// One datagram.
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
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud.ah = c.address;
    request.wr.ud.remote_qpn = 0x11;
    request.wr.ud.remote_qkey = 0x1ee7;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.datagrams, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto block =
        my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index));
    const adverb::datagram_destination there{my.address, adverb::qp_number{0x11},
                                             adverb::queue_key{0x1ee7}};
    if (!my.datagrams.post(adverb::send(block).to(there).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "datagram",
                                   .careful_bar = 1.00,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
