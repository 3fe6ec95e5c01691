// SPDX-License-Identifier: MIT
// Sixteen completions at a time: polled, and looked at. The sides with views also check whether a
// receive completed: only its message has a length.
#include <array>
#include <cstring>

#include "job.hpp"

namespace {

template <bool Views, bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    ibv_wc round[overhead::completions_a_round];
    if (Zeroed) std::memset(round, 0, sizeof round);
    const int polled = ibv_poll_cq(c.queue, overhead::completions_a_round, round);
    if (polled < 0) break;
    for (int each = 0; each < polled; ++each) {
      if (round[each].status != IBV_WC_SUCCESS) return found;
      found += round[each].wr_id;
      if (!Views || (round[each].opcode & IBV_WC_RECV) != 0) found += round[each].byte_len;
    }
  }
  return found;
}

std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    std::array<adverb::completion, overhead::completions_a_round> round;
    for (const adverb::completion& each : my.queue.poll(round)) {
      const auto success = each.success();
      if (!success) return found;
      found += each.id();
      found += success.length();
    }
  }
  return found;
}

const overhead::listed_job listed{{.name = "poll of 16",
                                   .careful_bar = 1.00,
                                   .operations = 1 + overhead::completions_a_round,
                                   .careful = in_c<false, false>,
                                   .ordinary = in_c<false, true>,
                                   .with_adverb = with_adverb}};

std::uint64_t views_with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    std::array<adverb::completion, overhead::completions_a_round> round;
    for (const adverb::completion& each : my.queue.poll(round)) {
      const auto success = each.success();
      if (!success) return found;
      found += each.id();
      if (const auto message = success.receive()) found += message.length();
    }
  }
  return found;
}

const overhead::listed_job listed_views{{.name = "completion views of 16",
                                         .careful_bar = 1.05,
                                         .operations = 1 + overhead::completions_a_round,
                                         .careful = in_c<true, false>,
                                         .ordinary = in_c<true, true>,
                                         .with_adverb = views_with_adverb}};

}  // namespace
