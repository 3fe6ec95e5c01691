// SPDX-License-Identifier: MIT
// A client object that writes to the memory of its peer: a member function that checks both ranges,
// remembers a callback, and posts, with at most 16 writes in progress. The C checks the same.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "job.hpp"

namespace {

constexpr std::uint32_t window_size = 16;

struct callback {
  void (*function)(void* argument) noexcept;
  void* argument;
};

void count_one(void* argument) noexcept { ++*static_cast<std::uint64_t*>(argument); }

template <bool Checked, bool Zeroed>
class c_client {
 public:
  explicit c_client(const overhead::c_objects& c) noexcept
      : pair_{c.pair},
        queue_{c.sends},
        memory_{c.memory},
        memory_size_{c.memory_size},
        remote_address_{c.remote_address},
        remote_size_{c.memory_size},
        local_key_{c.local_key},
        remote_key_{c.remote_key} {}

  /// Returns an errno, or 0.
  [[gnu::noinline]] int put(std::uint64_t offset, std::uint32_t length,
                            const callback& done) noexcept {
    if (Checked && (offset > memory_size_ || length > memory_size_ - offset)) return ERANGE;
    if (Checked && (offset > remote_size_ || length > remote_size_ - offset)) return ERANGE;
    if (in_progress_ == window_size) {
      const int result = take_back();
      if (result != 0) return result;
    }
    const std::uint32_t slot = next_++ % window_size;
    callbacks_[slot] = done;
    ibv_sge element;
    ibv_send_wr request;
    if (Zeroed) {
      std::memset(&element, 0, sizeof element);
      std::memset(&request, 0, sizeof request);
    }
    element.addr = memory_ + offset;
    element.length = length;
    element.lkey = local_key_;
    request.wr_id = slot;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = remote_address_ + offset;
    request.wr.rdma.rkey = remote_key_;
    ibv_send_wr* bad;
    const int result = ibv_post_send(pair_, &request, &bad);
    if (result != 0) return result;
    ++in_progress_;
    return 0;
  }

 private:
  [[gnu::noinline]] int take_back() noexcept {
    ibv_wc done[window_size];
    const int count = ibv_poll_cq(queue_, window_size, done);
    if (count < 0) return EIO;
    for (int index = 0; index < count; ++index) {
      if (done[index].status != IBV_WC_SUCCESS) return EIO;
      const callback& each = callbacks_[done[index].wr_id % window_size];
      each.function(each.argument);
      --in_progress_;
    }
    return 0;
  }

  ibv_qp* pair_;
  ibv_cq* queue_;
  std::uint64_t memory_;
  std::uint64_t memory_size_;
  std::uint64_t remote_address_;
  std::uint64_t remote_size_;
  std::uint32_t local_key_;
  std::uint32_t remote_key_;
  std::uint32_t next_ = 0;
  std::uint32_t in_progress_ = 0;
  std::array<callback, window_size> callbacks_{};
};

template <bool Checked, class... Policy>
class client {
 public:
  explicit client(const overhead::adverb_objects& my) noexcept
      : pair_{my.pair},
        queue_{my.sends},
        region_{my.region},
        remote_{adverb::adopt, my.remote.address(), my.remote.size_bytes(), my.remote.key()} {}

  [[gnu::noinline]] void put(std::uint64_t offset, std::uint32_t length, const callback& done,
                             Policy&... policy) {
    if (in_progress_ == window_size) {
      take_back(policy...);
      if ((policy || ...)) return;
    }
    const std::uint32_t slot = next_++ % window_size;
    callbacks_[slot] = done;
    const auto post = [&](const auto& block, const auto& there) {
      pair_.post(write(there, block).id(slot).signaled()).check(policy...);
    };
    if constexpr (Checked) {
      const auto block = region_.slice(offset, length, policy...);
      if ((policy || ...)) return;
      const auto there = remote_.slice(offset, length, policy...);
      if ((policy || ...)) return;
      post(block, there);
    } else {
      post(region_.unchecked_slice(offset, length), remote_.unchecked_slice(offset, length));
    }
    if ((policy || ...)) return;
    ++in_progress_;
  }

 private:
  [[gnu::noinline]] void take_back(Policy&... policy) {
    std::array<adverb::completion, window_size> batch;
    for (const adverb::completion& each : queue_.poll(batch, policy...)) {
      each.check(policy...);
      if ((policy || ...)) return;
      const callback& done = callbacks_[each.id() % window_size];
      done.function(done.argument);
      --in_progress_;
    }
  }

  adverb::queue_pair_ref<adverb::transport::rc> pair_;
  adverb::completion_queue_ref queue_;
  adverb::memory_region_ref region_;
  adverb::remote_buffer<std::byte, adverb::access_right::remote_write> remote_;
  std::uint32_t next_ = 0;
  std::uint32_t in_progress_ = 0;
  std::array<callback, window_size> callbacks_{};
};

template <bool Checked, bool Zeroed>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  c_client<Checked, Zeroed> writer{c};
  std::uint64_t done = 0;
  for (std::uint64_t index = 0; index < count; ++index)
    if (writer.put(overhead::offset_of(index), overhead::length_of(index), {count_one, &done}) != 0)
      break;
  return done;
}

template <bool Checked>
std::uint64_t throwing(overhead::adverb_objects my, std::uint64_t count) {
  client<Checked> writer{my};
  std::uint64_t done = 0;
  for (std::uint64_t index = 0; index < count; ++index)
    writer.put(overhead::offset_of(index), overhead::length_of(index), {count_one, &done});
  return done;
}

template <bool Checked>
std::uint64_t with_code(overhead::adverb_objects my, std::uint64_t count) {
  client<Checked, std::error_code> writer{my};
  std::uint64_t done = 0;
  std::error_code why;
  for (std::uint64_t index = 0; index < count; ++index) {
    writer.put(overhead::offset_of(index), overhead::length_of(index), {count_one, &done}, why);
    if (why) break;
  }
  return done;
}

// A put is a post, a sixteenth of a poll, and a completion.
const overhead::listed_job listed{{.name = "put of a client, slice",
                                   .careful_bar = 1.03,
                                   .operations = 3,
                                   .careful = in_c<true, false>,
                                   .ordinary = in_c<true, true>,
                                   .with_adverb = throwing<true>}};
const overhead::listed_job listed_code{{.name = "put of a client, slice, error_code",
                                        .careful_bar = 1.06,
                                        .reached = 1.19,
                                        .operations = 3,
                                        .careful = in_c<true, false>,
                                        .ordinary = in_c<true, true>,
                                        .with_adverb = with_code<true>}};
const overhead::listed_job listed_unchecked{{.name = "put of a client, unchecked_slice",
                                             .careful_bar = 1.00,
                                             .reached = 1.02,
                                             .operations = 3,
                                             .careful = in_c<false, false>,
                                             .ordinary = in_c<false, true>,
                                             .with_adverb = throwing<false>}};
const overhead::listed_job listed_unchecked_code{
    {.name = "put of a client, unchecked_slice, error_code",
     .careful_bar = 1.03,
     .reached = 1.19,
     .operations = 3,
     .careful = in_c<false, false>,
     .ordinary = in_c<false, true>,
     .with_adverb = with_code<false>}};

}  // namespace
