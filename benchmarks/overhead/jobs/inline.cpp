// SPDX-License-Identifier: MIT
// One send of 32 bytes that the request itself carries.
#include <cstddef>
#include <cstring>
#include <span>

#include "job.hpp"

namespace {

const std::byte bytes[64]{std::byte{1}};  // The halves differ.

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    ibv_sge element;
    if (Zeroed) std::memset(&element, 0, sizeof element);
    element.addr = reinterpret_cast<std::uintptr_t>(bytes + index % 2 * 32);
    element.length = 32;
    ibv_send_wr request;
    if (Zeroed) std::memset(&request, 0, sizeof request);
    request.wr_id = index;
    if (!Zeroed) request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
  }
  return index;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const std::span<const std::byte, 32> data{bytes + index % 2 * 32, 32};
    if (!my.pair.post(send(adverb::inline_data{data}).id(index).signaled())) break;
  }
  return index;
}

const overhead::listed_job listed{{.name = "inline send of 32 bytes",
                                   .careful_bar = 1.00,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
