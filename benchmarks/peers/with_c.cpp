// SPDX-License-Identifier: MIT
// The jobs in C: each request writes the fields that its operation needs, and every return code is
// checked. A failed set-up ends the program.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "program.hpp"

namespace {

using peers::require;

struct objects {
  ibv_context* context;
  ibv_pd* domain;
  ibv_cq* queue;
  ibv_mr* region;
  ibv_srq* shared;  // used by a server only
  ibv_qp* pair;
};

std::array<std::byte, peers::block_count * peers::block_size> memory;

void open_device(objects& all) {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  require(devices != nullptr && count > 0, "no device");
  all.context = ibv_open_device(devices[0]);
  require(all.context != nullptr, "ibv_open_device");
  ibv_free_device_list(devices);
}

void create(objects& all, bool serves) {
  all.domain = ibv_alloc_pd(all.context);
  require(all.domain != nullptr, "ibv_alloc_pd");
  all.queue = ibv_create_cq(all.context, 128, nullptr, nullptr, 0);
  require(all.queue != nullptr, "ibv_create_cq");
  all.region = ibv_reg_mr(all.domain, memory.data(), memory.size(),
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  require(all.region != nullptr, "ibv_reg_mr");
  all.shared = nullptr;
  if (serves) {
    ibv_srq_init_attr initial{};
    initial.attr.max_wr = peers::receive_count;
    initial.attr.max_sge = 1;
    all.shared = ibv_create_srq(all.domain, &initial);
    require(all.shared != nullptr, "ibv_create_srq");
  }
  ibv_qp_init_attr initial{};
  initial.send_cq = initial.recv_cq = all.queue;
  initial.srq = all.shared;
  initial.cap = {.max_send_wr = 128,
                 .max_recv_wr = 1,
                 .max_send_sge = 1,
                 .max_recv_sge = 1,
                 .max_inline_data = 64};
  initial.qp_type = IBV_QPT_RC;
  all.pair = ibv_create_qp(all.domain, &initial);
  require(all.pair != nullptr, "ibv_create_qp");
}

/// Brings the queue pair to RTS, connected to itself.
void connect(objects& all) {
  ibv_port_attr port;
  require(ibv_query_port(all.context, 1, &port) == 0, "ibv_query_port");
  ibv_gid gid;
  require(ibv_query_gid(all.context, 1, 0, &gid) == 0, "ibv_query_gid");
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  require(ibv_modify_qp(all.pair, &init,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "ibv_modify_qp INIT");
  ibv_qp_attr rtr{};
  rtr.qp_state = IBV_QPS_RTR;
  rtr.path_mtu = port.active_mtu;
  rtr.dest_qp_num = all.pair->qp_num;
  rtr.max_dest_rd_atomic = 1;
  rtr.min_rnr_timer = 12;
  rtr.ah_attr.is_global = 1;
  rtr.ah_attr.port_num = 1;
  rtr.ah_attr.grh.dgid = gid;
  rtr.ah_attr.grh.hop_limit = 64;
  require(ibv_modify_qp(all.pair, &rtr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "ibv_modify_qp RTR");
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.max_rd_atomic = 1;
  rts.timeout = 14;
  rts.retry_cnt = 7;
  rts.rnr_retry = 7;
  require(ibv_modify_qp(all.pair, &rts,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
                            IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY) == 0,
          "ibv_modify_qp RTS");
}

[[nodiscard]] objects set_up(bool serves) {
  objects all;
  open_device(all);
  create(all, serves);
  connect(all);
  return all;
}

void destroy(const objects& all) {
  ibv_destroy_qp(all.pair);
  if (all.shared != nullptr) ibv_destroy_srq(all.shared);
  ibv_dereg_mr(all.region);
  ibv_destroy_cq(all.queue);
  ibv_dealloc_pd(all.domain);
  ibv_close_device(all.context);
}

template <bool Checked>
class client {
 public:
  explicit client(const objects& all) noexcept
      : pair_{all.pair},
        queue_{all.queue},
        memory_{reinterpret_cast<std::uintptr_t>(memory.data())},
        size_{memory.size()},
        remote_address_{memory_},
        remote_size_{size_},
        local_key_{all.region->lkey},
        remote_key_{all.region->rkey} {}

  /// Returns an errno, or 0.
  [[gnu::noinline]] int put(std::uint64_t offset, std::uint32_t length,
                            const peers::callback& done) noexcept {
    if (Checked && (offset > size_ || length > size_ - offset)) return ERANGE;
    if (Checked && (offset > remote_size_ || length > remote_size_ - offset)) return ERANGE;
    if (in_progress_ == peers::window_size) {
      const int result = take_back();
      if (result != 0) return result;
    }
    const std::uint32_t slot = next_++ % peers::window_size;
    callbacks_[slot] = done;
    ibv_sge element;
    element.addr = memory_ + offset;
    element.length = length;
    element.lkey = local_key_;
    ibv_send_wr request;
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

  void finish() noexcept {
    while (in_progress_ > 0) require(take_back() == 0, "a put failed");
  }

 private:
  [[gnu::noinline]] int take_back() noexcept {
    ibv_wc done[peers::window_size];
    const int count = ibv_poll_cq(queue_, peers::window_size, done);
    if (count < 0) return EIO;
    for (int index = 0; index < count; ++index) {
      if (done[index].status != IBV_WC_SUCCESS) return EIO;
      const peers::callback& each = callbacks_[done[index].wr_id % peers::window_size];
      each.function(each.argument);
      --in_progress_;
    }
    return 0;
  }

  ibv_qp* pair_;
  ibv_cq* queue_;
  std::uint64_t memory_;
  std::uint64_t size_;
  std::uint64_t remote_address_;
  std::uint64_t remote_size_;
  std::uint32_t local_key_;
  std::uint32_t remote_key_;
  std::uint32_t next_ = 0;
  std::uint32_t in_progress_ = 0;
  std::array<peers::callback, peers::window_size> callbacks_{};
};

class server {
 public:
  explicit server(const objects& all) noexcept
      : pair_{all.pair}, queue_{all.queue}, shared_{all.shared} {
    for (std::size_t index = 0; index < peers::batch_size; ++index) {
      elements_[index] = {0, peers::block_size, all.region->lkey};
      refill_[index].next = index + 1 < peers::batch_size ? &refill_[index + 1] : nullptr;
      refill_[index].sg_list = &elements_[index];
      refill_[index].num_sge = 1;
    }
    for (std::size_t block = 0; block < peers::receive_count; ++block)
      require(give_back(block), "ibv_post_srq_recv");
  }

  /// Polls once. Returns the number of requests that were answered.
  [[gnu::noinline]] std::uint64_t serve() noexcept {
    ibv_wc done[16];
    const int count = ibv_poll_cq(queue_, 16, done);
    require(count >= 0, "ibv_poll_cq");
    std::uint64_t answered = 0;
    for (int index = 0; index < count; ++index) {
      const ibv_wc& each = done[index];
      require(each.status == IBV_WC_SUCCESS, "a request failed");
      switch (each.opcode) {
        case IBV_WC_RECV:
          require(answer(each), "ibv_post_send");
          require(give_back(each.wr_id), "ibv_post_srq_recv");
          ++answered;
          break;
        case IBV_WC_SEND: --in_progress_; break;
        default: require(false, "an unexpected completion");
      }
    }
    return answered;
  }

 private:
  /// Sends the message back.
  [[nodiscard]] bool answer(const ibv_wc& received) noexcept {
    ibv_sge element;
    element.addr = address_of(received.wr_id);
    element.length = received.byte_len;
    ibv_send_wr request;
    request.wr_id = peers::receive_count;
    request.next = nullptr;
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_send_wr* bad;
    ++in_progress_;
    return ibv_post_send(pair_, &request, &bad) == 0;
  }

  [[nodiscard]] bool give_back(std::uint64_t block) noexcept {
    if (block >= peers::receive_count) return false;
    elements_[gathered_].addr = address_of(block);
    refill_[gathered_].wr_id = block;
    if (++gathered_ < peers::batch_size) return true;
    gathered_ = 0;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(shared_, refill_, &bad) == 0 && bad == nullptr;
  }

  [[nodiscard]] static std::uint64_t address_of(std::uint64_t block) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory.data()) + block * peers::block_size;
  }

  ibv_qp* pair_;
  ibv_cq* queue_;
  ibv_srq* shared_;
  std::uint32_t in_progress_ = 0;
  std::size_t gathered_ = 0;
  ibv_sge elements_[peers::batch_size];
  ibv_recv_wr refill_[peers::batch_size];
};

/// Everything, destroyed together.
struct owned_objects : objects {
  owned_objects() : objects{::set_up(false)} {}
  owned_objects(const owned_objects&) = delete;
  owned_objects& operator=(const owned_objects&) = delete;
  ~owned_objects() { destroy(*this); }
};

}  // namespace

int main() {
  const objects all = set_up(false);
  client<false> writer{all};
  peers::count_puts("C", "put", writer);
  client<true> checking{all};
  peers::count_puts("C", "put, ranges checked", checking);
  destroy(all);
  const objects serving = set_up(true);
  server answering{serving};
  peers::count_answers("C", answering);
  destroy(serving);
  peers::count_set_up("C", [] { return owned_objects{}; });
  return 0;
}
