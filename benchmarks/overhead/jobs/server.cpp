// SPDX-License-Identifier: MIT
// A server object on a shared receive queue: a member function polls a round of completions,
// answers each request with an inline message, and gives the block back, 16 with one doorbell. Over
// the classic calls, and over the extended ones.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "job.hpp"

namespace {

constexpr std::size_t round_size = overhead::completions_a_round;
constexpr std::uint32_t batch_size = 16;

struct answer {
  std::uint64_t block;
  std::uint32_t bytes;
  std::uint32_t number;
};

template <bool Zeroed>
class c_server {
 public:
  explicit c_server(const overhead::c_objects& c) noexcept
      : pair_{c.pair},
        sender_{c.sender},
        queue_{c.queue},
        extended_{c.extended},
        shared_{c.shared},
        memory_{c.memory},
        block_count_{overhead::block_count},
        block_size_{overhead::block_size} {
    for (std::uint32_t index = 0; index < batch_size; ++index) {
      elements_[index].length = block_size_;
      elements_[index].lkey = c.local_key;
      receives_[index].next = index + 1 < batch_size ? &receives_[index + 1] : nullptr;
      receives_[index].sg_list = &elements_[index];
      receives_[index].num_sge = 1;
    }
  }

  [[nodiscard]] std::uint64_t sum() const noexcept { return answered_ + sent_ + written_; }

  /// Returns an errno, or 0.
  [[gnu::noinline]] int serve_classic() noexcept {
    ibv_wc done[round_size];
    const int count = ibv_poll_cq(queue_, round_size, done);
    if (count < 0) return EIO;
    for (int index = 0; index < count; ++index) {
      if (done[index].status != IBV_WC_SUCCESS) return EIO;
      switch (done[index].opcode) {
        case IBV_WC_RECV: {
          const int result = answer_classic(done[index].wr_id, done[index].byte_len);
          if (result != 0) return result;
          if (const int refused = give_back(done[index].wr_id)) return refused;
          break;
        }
        case IBV_WC_SEND: ++sent_; break;
        case IBV_WC_RDMA_WRITE: ++written_; break;
        default: return EPROTO;
      }
    }
    return 0;
  }

  [[gnu::noinline]] int serve_extended() noexcept {
    ibv_poll_cq_attr attributes;
    attributes.comp_mask = 0;
    int result = ibv_start_poll(extended_, &attributes);
    if (result == ENOENT) return 0;
    if (result != 0) return result;
    do {
      result = handle_current();
      if (result != 0) {
        ibv_end_poll(extended_);
        return result;
      }
      result = ibv_next_poll(extended_);
    } while (result == 0);
    ibv_end_poll(extended_);
    return result == ENOENT ? 0 : result;
  }

 private:
  int handle_current() noexcept {
    if (extended_->status != IBV_WC_SUCCESS) return EIO;
    switch (ibv_wc_read_opcode(extended_)) {
      case IBV_WC_RECV: {
        const std::uint64_t block = extended_->wr_id;
        const int result = answer_extended(block, ibv_wc_read_byte_len(extended_));
        return result != 0 ? result : give_back(block);
      }
      case IBV_WC_SEND: ++sent_; return 0;
      case IBV_WC_RDMA_WRITE: ++written_; return 0;
      default: return EPROTO;
    }
  }

  int answer_classic(std::uint64_t block, std::uint32_t bytes) noexcept {
    const answer message{block, bytes, answered_};
    ibv_sge element;
    ibv_send_wr request;
    if (Zeroed) {
      std::memset(&element, 0, sizeof element);
      std::memset(&request, 0, sizeof request);
    }
    element.addr = reinterpret_cast<std::uintptr_t>(&message);
    element.length = sizeof message;
    request.wr_id = block;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_send_wr* bad;
    const int result = ibv_post_send(pair_, &request, &bad);
    if (result != 0) return result;
    ++answered_;
    return 0;
  }

  int answer_extended(std::uint64_t block, std::uint32_t bytes) noexcept {
    answer message{block, bytes, answered_};
    ibv_wr_start(sender_);
    sender_->wr_id = block;
    sender_->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_wr_send(sender_);
    ibv_wr_set_inline_data(sender_, &message, sizeof message);
    const int result = ibv_wr_complete(sender_);
    if (result != 0) return result;
    ++answered_;
    return 0;
  }

  int give_back(std::uint64_t block) noexcept {
    if (block >= block_count_) return ERANGE;
    elements_[gathered_].addr = memory_ + block * block_size_;
    receives_[gathered_].wr_id = block;
    if (++gathered_ < batch_size) return 0;
    gathered_ = 0;
    ibv_recv_wr* bad = nullptr;
    const int result = ibv_post_srq_recv(shared_, receives_, &bad);
    return result != 0 ? result : bad != nullptr ? EIO : 0;
  }

  ibv_qp* pair_;
  ibv_qp_ex* sender_;
  ibv_cq* queue_;
  ibv_cq_ex* extended_;
  ibv_srq* shared_;
  std::uint64_t memory_;
  std::uint64_t block_count_;
  std::uint32_t block_size_;
  std::uint32_t gathered_ = 0;
  std::uint32_t answered_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t written_ = 0;
  ibv_sge elements_[batch_size];
  ibv_recv_wr receives_[batch_size];
};

class server {
 public:
  explicit server(const overhead::adverb_objects& my)
      : pair_{my.pair},
        sender_{my.sender},
        queue_{my.queue},
        extended_{my.extended},
        receives_{my.shared, my.region.blocks(overhead::block_size), {.batch = batch_size}} {}

  [[nodiscard]] std::uint64_t sum() const noexcept { return answered_ + sent_ + written_; }

  [[gnu::noinline]] void serve_classic() {
    queue_.poll(adverb::up_to<round_size>, [&](const auto& done) { handle(done, pair_); });
  }

  [[gnu::noinline]] void serve_extended() {
    for (const auto& done : extended_.poll()) handle(done, sender_);
  }

 private:
  void handle(const auto& done, const auto& sender) {
    done.check();
    const auto success = done.success();
    switch (success.opcode()) {
      case adverb::completion_opcode::receive: {
        const std::uint64_t block = done.id();
        const answer message{block, success.length(), answered_};
        sender.post(send(adverb::inline_data{message}).id(block).signaled()).check();
        ++answered_;
        receives_.give_back(block).check();
        break;
      }
      case adverb::completion_opcode::send: ++sent_; break;
      case adverb::completion_opcode::write: ++written_; break;
      default: throw std::runtime_error{"an operation that was not posted"};
    }
  }

  adverb::queue_pair_ref<adverb::transport::rc> pair_;
  adverb::extended_sender<adverb::transport::rc> sender_;
  adverb::completion_queue_ref queue_;
  adverb::extended_completion_queue_ref<> extended_;
  adverb::receive_refill<adverb::shared_receive_queue_ref> receives_;
  std::uint32_t answered_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t written_ = 0;
};

template <bool Zeroed>
std::uint64_t classic_in_c(overhead::c_objects c, std::uint64_t count) {
  c_server<Zeroed> all{c};
  for (std::uint64_t index = 0; index < count; ++index)
    if (all.serve_classic() != 0) break;
  return all.sum();
}

template <bool Zeroed>
std::uint64_t extended_in_c(overhead::c_objects c, std::uint64_t count) {
  c_server<Zeroed> all{c};
  for (std::uint64_t index = 0; index < count; ++index)
    if (all.serve_extended() != 0) break;
  return all.sum();
}

std::uint64_t classic(overhead::adverb_objects my, std::uint64_t count) {
  server all{my};
  for (std::uint64_t index = 0; index < count; ++index) all.serve_classic();
  return all.sum();
}

std::uint64_t extended(overhead::adverb_objects my, std::uint64_t count) {
  server all{my};
  for (std::uint64_t index = 0; index < count; ++index) all.serve_extended();
  return all.sum();
}

// A round is a poll, 16 completions, 8 answers, and half of a post of receives.
constexpr std::uint64_t operations = 1 + round_size + round_size / 2 + 1;
const overhead::listed_job listed_classic{{.name = "server, a round of 16",
                                           .careful_bar = 1.00,
                                           .operations = operations,
                                           .careful = classic_in_c<false>,
                                           .ordinary = classic_in_c<true>,
                                           .with_adverb = classic}};
const overhead::listed_job listed_extended{{.name = "server, extended, a round of 16",
                                            .careful_bar = 1.00,
                                            .operations = operations,
                                            .careful = extended_in_c<false>,
                                            .ordinary = extended_in_c<true>,
                                            .with_adverb = extended}};

}  // namespace
