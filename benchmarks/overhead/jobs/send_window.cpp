// SPDX-License-Identifier: MIT
// Writes that go through a window of 128 requests, few of them signaled: 32 of them, and the
// completions of as many. The C counts by hand what is in progress and what is signaled, and sees
// of each completion whether it is a success of its pair.
#include <array>
#include <cstring>

#include "job.hpp"

namespace {

constexpr std::uint64_t writes = 32;
constexpr std::uint32_t window_size = 128;

template <std::uint32_t SignalEvery, bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  std::uint32_t in_progress = 0;
  std::uint32_t unsignaled = 0;
  std::uint64_t index = 0;
  while (index < count * writes) {
    if (in_progress == window_size) {
      ibv_wc done[window_size / SignalEvery];
      const int polled = ibv_poll_cq(c.sends, window_size / SignalEvery, done);
      if (polled < 0) break;
      for (int each = 0; each < polled; ++each) {
        if (done[each].status != IBV_WC_SUCCESS) return index;
        if (done[each].qp_num == c.pair->qp_num) in_progress -= SignalEvery;
      }
      continue;
    }
    const bool signaled = ++unsignaled == SignalEvery;
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
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    request.wr.rdma.remote_addr = c.remote_address + offset;
    request.wr.rdma.rkey = c.remote_key;
    ibv_send_wr* bad;
    if (Zeroed) bad = nullptr;
    if (ibv_post_send(c.pair, &request, &bad) != 0) break;
    if (signaled) unsignaled = 0;
    ++in_progress;
    ++index;
  }
  return index;
}

template <std::uint32_t SignalEvery>
std::uint64_t with_adverb(overhead::adverb_objects my, std::uint64_t count) {
  adverb::send_window window{my.pair, {.size = window_size, .signal_every = SignalEvery}};
  std::uint64_t index = 0;
  while (index < count * writes) {
    const std::uint64_t offset = overhead::offset_of(index);
    const auto block = my.region.unchecked_slice(offset, overhead::length_of(index));
    const auto there = my.remote.unchecked_slice(offset / 8, overhead::block_size / 8);
    const auto posted = window.post(write(there, block).id(index));
    if (posted) {
      ++index;
    } else if (posted.full()) {
      std::array<adverb::completion, window_size / SignalEvery> done;
      for (const adverb::completion& each : my.sends.poll(done)) window.completed(each);
    } else {
      break;
    }
  }
  return index;
}

const overhead::listed_job listed{{.name = "send window, 32 writes, one signaled",
                                   .careful_bar = 1.00,
                                   .operations = writes,
                                   .careful = in_c<32, false>,
                                   .ordinary = in_c<32, true>,
                                   .with_adverb = with_adverb<32>}};
const overhead::listed_job listed_16{{.name = "send window, 32 writes, two signaled",
                                      .careful_bar = 1.00,
                                      .operations = writes,
                                      .careful = in_c<16, false>,
                                      .ordinary = in_c<16, true>,
                                      .with_adverb = with_adverb<16>}};

}  // namespace
