// SPDX-License-Identifier: MIT
// A round of sixteen completions of an extended queue.
#include <cerrno>
#include <cstring>

#include "job.hpp"

namespace {

template <bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    ibv_poll_cq_attr attributes;
    if (Zeroed) std::memset(&attributes, 0, sizeof attributes);
    if (!Zeroed) attributes.comp_mask = 0;
    int result = ibv_start_poll(c.extended, &attributes);
    if (result == ENOENT) continue;
    if (result != 0) return found;
    do {
      if (c.extended->status != IBV_WC_SUCCESS) {
        ibv_end_poll(c.extended);
        return found;
      }
      found += c.extended->wr_id;
      if ((ibv_wc_read_opcode(c.extended) & IBV_WC_RECV) != 0)
        found += ibv_wc_read_byte_len(c.extended);
      result = ibv_next_poll(c.extended);
    } while (result == 0);
    ibv_end_poll(c.extended);
    if (result != ENOENT) return found;
  }
  return found;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    for (const auto& each : my.extended.poll()) {
      const auto success = each.success();
      if (!success) return found;
      found += each.id();
      if (const auto message = success.receive()) found += message.length();
    }
  }
  return found;
}

const overhead::listed_job listed{{.name = "extended poll of 16",
                                   .careful_bar = 1.10,
                                   .operations = 1 + overhead::completions_a_round,
                                   .careful = in_c<false>,
                                   .ordinary = in_c<true>,
                                   .with_adverb = with_adverb}};

}  // namespace
