// SPDX-License-Identifier: MIT
// A block target: its clients' commands arrive on a shared receive queue. It checks the range on
// the disk and the range in the client's buffer, moves 4 KiB with a write or a read, and answers
// with an inline message when the data has moved. Over the classic calls, and over the extended
// ones with the timestamps of the completions.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "job.hpp"

namespace {

constexpr std::size_t round_size = overhead::completions_a_round;
constexpr std::uint32_t batch_size = 16;
constexpr std::uint32_t transfer_size = 4096;
constexpr std::uint32_t most_pending = 64;

struct command {
  std::uint32_t is_write;
  std::uint32_t tag;
  std::uint64_t disk_offset;
  std::uint64_t client_offset;
};

struct answer {
  std::uint32_t tag;
  std::uint32_t status;
};

struct pending {
  std::uint32_t tag;
  std::uint64_t started;
};

/// The blocks of the receives hold these commands. The providers store nothing there.
command received[round_size];

void fill_received() noexcept {
  for (std::uint32_t index = 0; index < round_size; ++index)
    received[index] = {index / 2 % 2, 100 + index, std::uint64_t{index} * transfer_size,
                       std::uint64_t{round_size - 1 - index} * transfer_size};
}

template <bool Zeroed>
class c_target {
 public:
  explicit c_target(const overhead::c_objects& c) noexcept
      : pair_{c.pair},
        sender_{c.sender},
        queue_{c.queue},
        extended_{c.extended},
        shared_{c.shared},
        disk_{c.memory},
        disk_size_{c.memory_size},
        client_{c.remote_address},
        client_size_{c.memory_size},
        local_key_{c.local_key},
        client_key_{c.remote_key},
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

  [[nodiscard]] std::uint64_t sum() const noexcept { return answered_ + sent_ + busy_; }

  /// Returns an errno, or 0.
  [[gnu::noinline]] int serve_classic() noexcept {
    ibv_wc done[round_size];
    const int count = ibv_poll_cq(queue_, round_size, done);
    if (count < 0) return EIO;
    for (int index = 0; index < count; ++index) {
      if (done[index].status != IBV_WC_SUCCESS) return EIO;
      int result = 0;
      switch (done[index].opcode) {
        case IBV_WC_RECV:
          result = start_classic(done[index].wr_id, done[index].byte_len);
          if (result == 0) result = give_back(done[index].wr_id);
          break;
        case IBV_WC_RDMA_WRITE: [[fallthrough]];
        case IBV_WC_RDMA_READ: result = answer_classic(done[index].wr_id); break;
        case IBV_WC_SEND: ++sent_; break;
        default: return EPROTO;
      }
      if (result != 0) return result;
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
        const int result = start_extended(block, ibv_wc_read_byte_len(extended_),
                                          ibv_wc_read_completion_ts(extended_));
        return result != 0 ? result : give_back(block);
      }
      case IBV_WC_RDMA_WRITE: [[fallthrough]];
      case IBV_WC_RDMA_READ:
        return answer_extended(extended_->wr_id, ibv_wc_read_completion_ts(extended_));
      case IBV_WC_SEND: ++sent_; return 0;
      default: return EPROTO;
    }
  }

  int check(const command& asked) const noexcept {
    if (asked.disk_offset > disk_size_ || transfer_size > disk_size_ - asked.disk_offset)
      return ERANGE;
    if (asked.client_offset > client_size_ || transfer_size > client_size_ - asked.client_offset)
      return ERANGE;
    return 0;
  }

  int start_classic(std::uint64_t block, std::uint32_t bytes) noexcept {
    if (bytes < sizeof(command)) return EPROTO;
    const command& asked = received[block % round_size];
    if (const int refused = check(asked)) return refused;
    const std::uint32_t slot = next_++ % most_pending;
    pending_[slot].tag = asked.tag;
    ibv_sge element;
    ibv_send_wr request;
    if (Zeroed) {
      std::memset(&element, 0, sizeof element);
      std::memset(&request, 0, sizeof request);
    }
    element.addr = disk_ + asked.disk_offset;
    element.length = transfer_size;
    element.lkey = local_key_;
    request.wr_id = slot;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = asked.is_write != 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = client_ + asked.client_offset;
    request.wr.rdma.rkey = client_key_;
    ibv_send_wr* bad;
    return ibv_post_send(pair_, &request, &bad);
  }

  int start_extended(std::uint64_t block, std::uint32_t bytes, std::uint64_t now) noexcept {
    if (bytes < sizeof(command)) return EPROTO;
    const command& asked = received[block % round_size];
    if (const int refused = check(asked)) return refused;
    const std::uint32_t slot = next_++ % most_pending;
    pending_[slot].tag = asked.tag;
    pending_[slot].started = now;
    ibv_wr_start(sender_);
    sender_->wr_id = slot;
    sender_->wr_flags = IBV_SEND_SIGNALED;
    if (asked.is_write != 0)
      ibv_wr_rdma_read(sender_, client_key_, client_ + asked.client_offset);
    else
      ibv_wr_rdma_write(sender_, client_key_, client_ + asked.client_offset);
    ibv_wr_set_sge(sender_, local_key_, disk_ + asked.disk_offset, transfer_size);
    return ibv_wr_complete(sender_);
  }

  int answer_classic(std::uint64_t slot) noexcept {
    const answer message{pending_[slot % most_pending].tag, 0};
    ibv_sge element;
    ibv_send_wr request;
    if (Zeroed) {
      std::memset(&element, 0, sizeof element);
      std::memset(&request, 0, sizeof request);
    }
    element.addr = reinterpret_cast<std::uintptr_t>(&message);
    element.length = sizeof message;
    request.wr_id = slot;
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

  int answer_extended(std::uint64_t slot, std::uint64_t now) noexcept {
    const pending& of = pending_[slot % most_pending];
    busy_ += now - of.started;
    answer message{of.tag, 0};
    ibv_wr_start(sender_);
    sender_->wr_id = slot;
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
    elements_[gathered_].addr = disk_ + block * block_size_;
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
  std::uint64_t disk_;
  std::uint64_t disk_size_;
  std::uint64_t client_;
  std::uint64_t client_size_;
  std::uint32_t local_key_;
  std::uint32_t client_key_;
  std::uint64_t block_count_;
  std::uint32_t block_size_;
  std::uint32_t gathered_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t answered_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t busy_ = 0;
  pending pending_[most_pending]{};
  ibv_sge elements_[batch_size];
  ibv_recv_wr receives_[batch_size];
};

class target {
 public:
  explicit target(const overhead::adverb_objects& my)
      : pair_{my.pair},
        sender_{my.sender},
        queue_{my.queue},
        extended_{my.extended.native_handle()},
        disk_{my.region},
        client_{adverb::adopt, my.remote.address(), my.remote.size_bytes(), my.remote.key()},
        receives_{my.shared, my.region.blocks(overhead::block_size), {.batch = batch_size}} {}

  [[nodiscard]] std::uint64_t sum() const noexcept { return answered_ + sent_ + busy_; }

  [[gnu::noinline]] void serve_classic() {
    queue_.poll(adverb::up_to<round_size>,
                [&](const auto& done) { handle(done, pair_, [] { return std::uint64_t{0}; }); });
  }

  [[gnu::noinline]] void serve_extended() {
    for (const auto& done : extended_.poll())
      handle(done, sender_, [&] { return static_cast<std::uint64_t>(done.success().timestamp()); });
  }

 private:
  static constexpr adverb::completion_fields fields =
      adverb::standard_completion_fields | adverb::completion_field::timestamp;

  void handle(const auto& done, const auto& sender, const auto& now) {
    done.check();
    const auto success = done.success();
    switch (success.opcode()) {
      case adverb::completion_opcode::receive: {
        const std::uint64_t block = done.id();
        if (success.length() < sizeof(command)) throw std::runtime_error{"no command"};
        start(received[block % round_size], now(), sender);
        receives_.give_back(block).check();
        break;
      }
      case adverb::completion_opcode::write: [[fallthrough]];
      case adverb::completion_opcode::read: {
        const pending& of = pending_[done.id() % most_pending];
        busy_ += now() - of.started;
        const answer message{of.tag, 0};
        sender.post(send(adverb::inline_data{message}).id(done.id()).signaled()).check();
        ++answered_;
        break;
      }
      case adverb::completion_opcode::send: ++sent_; break;
      default: throw std::runtime_error{"an operation that was not posted"};
    }
  }

  void start(const command& asked, std::uint64_t now, const auto& sender) {
    const auto disk = disk_.slice(asked.disk_offset, transfer_size);
    const auto client = client_.slice(asked.client_offset, transfer_size);
    const std::uint32_t slot = next_++ % most_pending;
    pending_[slot] = {asked.tag, now};
    if (asked.is_write != 0)
      sender.post(read(client, disk).id(slot).signaled()).check();
    else
      sender.post(write(client, disk).id(slot).signaled()).check();
  }

  adverb::queue_pair_ref<adverb::transport::rc> pair_;
  adverb::extended_sender<adverb::transport::rc> sender_;
  adverb::completion_queue_ref queue_;
  adverb::extended_completion_queue_ref<fields> extended_;
  adverb::memory_region_ref disk_;
  adverb::remote_buffer<std::byte,
                        adverb::access_right::remote_read | adverb::access_right::remote_write>
      client_;
  adverb::receive_refill<adverb::shared_receive_queue_ref> receives_;
  std::uint32_t next_ = 0;
  std::uint32_t answered_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t busy_ = 0;
  pending pending_[most_pending]{};
};

template <bool Zeroed>
std::uint64_t classic_in_c(overhead::c_objects c, std::uint64_t count) {
  fill_received();
  c_target<Zeroed> all{c};
  for (std::uint64_t index = 0; index < count; ++index)
    if (all.serve_classic() != 0) break;
  return all.sum();
}

template <bool Zeroed>
std::uint64_t extended_in_c(overhead::c_objects c, std::uint64_t count) {
  fill_received();
  c_target<Zeroed> all{c};
  for (std::uint64_t index = 0; index < count; ++index)
    if (all.serve_extended() != 0) break;
  return all.sum();
}

std::uint64_t classic(overhead::adverb_objects my, std::uint64_t count) {
  fill_received();
  target all{my};
  for (std::uint64_t index = 0; index < count; ++index) all.serve_classic();
  return all.sum();
}

std::uint64_t extended(overhead::adverb_objects my, std::uint64_t count) {
  fill_received();
  target all{my};
  for (std::uint64_t index = 0; index < count; ++index) all.serve_extended();
  return all.sum();
}

// A round is a poll, 16 completions, 8 transfers with two ranges each, 4 answers, and half of a
// post of receives.
constexpr std::uint64_t operations = 1 + round_size + round_size / 2 + round_size / 4 + 1;
const overhead::listed_job listed_classic{{.name = "block target, a round of 16",
                                           .careful_bar = 1.05,
                                           .operations = operations,
                                           .careful = classic_in_c<false>,
                                           .ordinary = classic_in_c<true>,
                                           .with_adverb = classic}};
const overhead::listed_job listed_extended{{.name = "block target, extended, a round of 16",
                                            .careful_bar = 1.05,
                                            .operations = operations,
                                            .careful = extended_in_c<false>,
                                            .ordinary = extended_in_c<true>,
                                            .with_adverb = extended}};

}  // namespace
