// SPDX-License-Identifier: MIT
// One send of a list of elements that is there already.
#include <array>
#include <cstring>
#include <span>

#include "job.hpp"

namespace {

// The same list for both. Not of the loops themselves: where they have a list on their stacks is a
// matter of chance.
ibv_sge elements[8]{{0x1000, 64, 1}, {0x2000, 64, 1}, {0x3000, 64, 1}, {0x4000, 64, 1},
                    {0x5000, 64, 2}, {0x6000, 64, 2}, {0x7000, 64, 2}, {0x8000, 64, 2}};
const std::array<adverb::mutable_buffer, 8> buffers = [] {
  std::array<adverb::mutable_buffer, 8> list;
  for (std::size_t each = 0; each < 8; ++each) list[each] = {adverb::adopt, elements[each]};
  return list;
}();

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_send_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = elements + index % 4;
    request.num_sge = static_cast<int>(1 + index % 4);
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const auto part = std::span{buffers}.subspan(index % 4, 1 + index % 4);
    if (!my.pair.post(adverb::send(part).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "send of a span",
                                   .careful_bar = 1.00,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
