// SPDX-License-Identifier: MIT
// A libibverbs with one device that completes every request at once. `run` loads it before a
// program (LD_PRELOAD) and leaves its instructions out, with those of all that it calls.
//
// A signaled send completes in the order of posting. Every posted receive completes with a message
// of `message_length` bytes at the next poll that has room, after the sends. There are no events.
//
// ADVERB_DELIVERS connects every queue pair to itself: a send, or a write with immediate data,
// completes the oldest posted receive of its pair, and copies its bytes.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace {

#if defined(ADVERB_DELIVERS)
constexpr bool delivers = true;
#else
constexpr bool delivers = false;
#endif
constexpr std::uint32_t message_length = 32;
constexpr std::size_t objects_of_a_kind = 128;
constexpr std::size_t queue_length = 256;

/// Objects without an allocation.
template <class T>
class pool {
 public:
  [[nodiscard]] T* take() {
    for (slot& each : slots_) {
      if (each.used) continue;
      each.object = {};
      each.used = true;
      return &each.object;
    }
    errno = ENOMEM;
    return nullptr;
  }
  /// `object` is the first member of a T.
  int give_back(void* object) {
    for (slot& each : slots_)
      if (static_cast<void*>(&each.object) == object) each.used = false;
    return 0;
  }

 private:
  struct slot {
    T object;
    bool used;
  };
  std::array<slot, objects_of_a_kind> slots_{};
};

template <class T>
class ring {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return end_ - begin_ == queue_length; }
  void push(const T& value) { values_[end_++ % queue_length] = value; }
  [[nodiscard]] T pop() { return values_[begin_++ % queue_length]; }

 private:
  std::array<T, queue_length> values_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Some programs poll in another thread than the one that posts.
class lock {
 public:
  lock() {
    while (taken.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~lock() { taken.clear(std::memory_order_release); }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

 private:
  static inline std::atomic_flag taken;
};

struct send {
  std::uint64_t id;
  ibv_wc_opcode opcode;
  std::uint32_t pair;
};

struct receive {
  std::uint64_t id;
  std::uint64_t address;
  std::uint32_t length;
};

struct receive_queue {
  ibv_srq shared;  // used by shared receive queues only
  ring<receive> posted;
};

struct completion_queue {
  ibv_cq native;
  ring<send> sends;
  ring<ibv_wc> delivered;   // completions of sends and receives, if ADVERB_DELIVERS
  receive_queue* receives;  // the receives of the queue pair that was created last
  std::uint32_t pair;
};

struct queue_pair {
  ibv_qp native;
  ibv_qp_cap sizes;
  receive_queue own;
};

/// The struct that programs see is the first member.
template <class T, class Native>
[[nodiscard]] T& of(Native* native) {
  return *reinterpret_cast<T*>(native);
}

ibv_device device{};
std::uint32_t pairs_so_far = 0;
pool<ibv_context> contexts;
pool<ibv_pd> domains;
pool<ibv_mr> regions;
pool<ibv_comp_channel> channels;
pool<completion_queue> completion_queues;
pool<receive_queue> shared_receive_queues;
pool<queue_pair> queue_pairs;

ibv_wc_opcode completed(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    default: return IBV_WC_SEND;
  }
}

void add_delivered(ibv_cq* queue, const ibv_wc& done) {
  auto& delivered = of<completion_queue>(queue).delivered;
  if (delivered.full()) std::abort();
  delivered.push(done);
}

/// Copies the bytes of a request, and completes it and the receive that it takes. The program has
/// posted a receive before, and posts these kinds of requests only.
void deliver(ibv_qp* pair, const ibv_send_wr& request) {
  const bool is_send = request.opcode == IBV_WR_SEND;
  const bool has_immediate = request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (!is_send && !has_immediate && request.opcode != IBV_WR_RDMA_WRITE) std::abort();
  std::uint32_t length = 0;
  for (int each = 0; each < request.num_sge; ++each) length += request.sg_list[each].length;
  ibv_wc done{};
  done.status = IBV_WC_SUCCESS;
  done.byte_len = length;
  done.qp_num = pair->qp_num;
  std::uint64_t to = request.wr.rdma.remote_addr;
  if (is_send || has_immediate) {
    auto& posted = of<queue_pair>(pair).own.posted;
    if (posted.empty()) std::abort();
    const receive taken = posted.pop();
    if (is_send) to = taken.address;
    if (is_send && taken.length < length) std::abort();
    ibv_wc received = done;
    received.wr_id = taken.id;
    received.opcode = is_send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    if (has_immediate) {
      received.imm_data = request.imm_data;
      received.wc_flags = IBV_WC_WITH_IMM;
    }
    add_delivered(pair->recv_cq, received);
  }
  for (int each = 0; each < request.num_sge; ++each) {
    const ibv_sge& from = request.sg_list[each];
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from.addr), from.length);
    to += from.length;
  }
  if ((request.send_flags & IBV_SEND_SIGNALED) == 0) return;
  done.wr_id = request.wr_id;
  done.opcode = completed(request.opcode);
  add_delivered(pair->send_cq, done);
}

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) {
  const lock held;
  if constexpr (delivers) {
    for (; request != nullptr; request = request->next) deliver(pair, *request);
    return 0;
  }
  ring<send>& sends = of<completion_queue>(pair->send_cq).sends;
  for (; request != nullptr; request = request->next) {
    if (sends.full()) {
      *bad = request;
      return ENOMEM;
    }
    if ((request->send_flags & IBV_SEND_SIGNALED) != 0)
      sends.push({request->wr_id, completed(request->opcode), pair->qp_num});
  }
  return 0;
}

int post(receive_queue& queue, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const lock held;
  for (; request != nullptr; request = request->next) {
    if (queue.posted.full()) {
      *bad = request;
      return ENOMEM;
    }
    receive added{request->wr_id, 0, 0};
    if (request->num_sge == 1) {
      added.address = request->sg_list->addr;
      added.length = request->sg_list->length;
    }
    queue.posted.push(added);
  }
  return 0;
}
int post_receive(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** bad) {
  return post(of<queue_pair>(pair).own, request, bad);
}
int post_shared_receive(ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** bad) {
  return post(of<receive_queue>(queue), request, bad);
}

int take_completions(completion_queue& queue, int room, ibv_wc* out) {
  const lock held;
  int count = 0;
  if constexpr (delivers) {
    while (count < room && !queue.delivered.empty()) out[count++] = queue.delivered.pop();
    return count;
  }
  for (; count < room && !queue.sends.empty(); ++count) {
    const send each = queue.sends.pop();
    out[count].wr_id = each.id;
    out[count].opcode = each.opcode;
    out[count].qp_num = each.pair;
  }
  for (; count < room && queue.receives != nullptr && !queue.receives->posted.empty(); ++count) {
    out[count].wr_id = queue.receives->posted.pop().id;
    out[count].opcode = IBV_WC_RECV;
    out[count].qp_num = queue.pair;
  }
  for (int index = 0; index < count; ++index) {
    out[index].status = IBV_WC_SUCCESS;
    out[index].byte_len = message_length;
    out[index].wc_flags = 0;
  }
  return count;
}

int poll(ibv_cq* queue, int room, ibv_wc* out) {
  const int count = take_completions(of<completion_queue>(queue), room, out);
  if (count == 0) sched_yield();  // so that another thread posts
  return count;
}

int request_no_event(ibv_cq*, int) { return 0; }

ibv_gid own_gid() { return {.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}; }

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  static ibv_device* list[2];
  device.node_type = IBV_NODE_CA;
  device.transport_type = IBV_TRANSPORT_IB;
  device.name[0] = 'i';
  list[0] = &device;
  if (count != nullptr) *count = 1;
  return list;
}
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device* which) { return which->name; }

ibv_context* ibv_open_device(ibv_device* which) {
  ibv_context* const context = contexts.take();
  if (context == nullptr) return nullptr;
  context->device = which;
  context->num_comp_vectors = 1;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_receive;
  context->ops.post_srq_recv = post_shared_receive;
  context->ops.poll_cq = poll;
  context->ops.req_notify_cq = request_no_event;
  return context;
}
int ibv_close_device(ibv_context* context) { return contexts.give_back(context); }

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->phys_port_cnt = 1;
  attributes->atomic_cap = IBV_ATOMIC_HCA;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* compatible) {
  auto& attributes = *reinterpret_cast<ibv_port_attr*>(compatible);
  attributes.state = IBV_PORT_ACTIVE;
  attributes.max_mtu = attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = attributes.pkey_tbl_len = 1;
  attributes.lid = 0;
  attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
int ibv_query_gid(ibv_context*, std::uint8_t, int, ibv_gid* gid) {
  *gid = own_gid();
  return 0;
}
int _ibv_query_gid_ex(ibv_context*, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t, std::size_t) {
  *entry = {.gid = own_gid(),
            .gid_index = index,
            .port_num = port,
            .gid_type = IBV_GID_TYPE_ROCE_V2,
            .ndev_ifindex = 1};
  return index == 0 ? 0 : ENODATA;
}
ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t room, std::uint32_t,
                             std::size_t) {
  if (room == 0) return -ENOMEM;
  _ibv_query_gid_ex(nullptr, 1, 0, entries, 0, 0);
  return 1;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  ibv_pd* const domain = domains.take();
  if (domain != nullptr) domain->context = context;
  return domain;
}
int ibv_dealloc_pd(ibv_pd* domain) { return domains.give_back(domain); }

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* domain, void* memory, std::size_t length, int) {
  ibv_mr* const region = regions.take();
  if (region == nullptr) return nullptr;
  region->context = domain->context;
  region->pd = domain;
  region->addr = memory;
  region->length = length;
  region->lkey = region->rkey = 0x1234;
  return region;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* memory, std::size_t length, std::uint64_t,
                         unsigned int access) {
  return ibv_reg_mr(domain, memory, length, static_cast<int>(access));
}
int ibv_dereg_mr(ibv_mr* region) { return regions.give_back(region); }

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  ibv_comp_channel* const channel = channels.take();
  if (channel == nullptr) return nullptr;
  channel->context = context;
  channel->fd = eventfd(0, EFD_CLOEXEC);
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  close(channel->fd);
  return channels.give_back(channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* of_program,
                      ibv_comp_channel* channel, int) {
  completion_queue* const queue = completion_queues.take();
  if (queue == nullptr) return nullptr;
  queue->native.context = context;
  queue->native.channel = channel;
  queue->native.cq_context = of_program;
  queue->native.cqe = entries;
  return &queue->native;
}
int ibv_destroy_cq(ibv_cq* queue) { return completion_queues.give_back(queue); }

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* initial) {
  receive_queue* const queue = shared_receive_queues.take();
  if (queue == nullptr) return nullptr;
  queue->shared.context = domain->context;
  queue->shared.pd = domain;
  queue->shared.srq_context = initial->srq_context;
  return &queue->shared;
}
int ibv_destroy_srq(ibv_srq* queue) { return shared_receive_queues.give_back(queue); }

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* initial) {
  queue_pair* const pair = queue_pairs.take();
  if (pair == nullptr) return nullptr;
  pair->sizes = initial->cap;
  ibv_qp& native = pair->native;
  native.context = domain->context;
  native.qp_context = initial->qp_context;
  native.pd = domain;
  native.send_cq = initial->send_cq;
  native.recv_cq = initial->recv_cq;
  native.srq = initial->srq;
  native.qp_num = ++pairs_so_far;
  native.qp_type = initial->qp_type;
  native.state = IBV_QPS_RESET;
  auto& receiving = of<completion_queue>(native.recv_cq);
  receiving.receives = native.srq == nullptr ? &pair->own : &of<receive_queue>(native.srq);
  receiving.pair = native.qp_num;
  return &native;
}
int ibv_destroy_qp(ibv_qp* pair) {
  of<completion_queue>(pair->recv_cq).receives = nullptr;
  return queue_pairs.give_back(pair);
}
int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  if ((mask & IBV_QP_STATE) != 0) pair->state = attributes->qp_state;
  return 0;
}
int ibv_query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int, ibv_qp_init_attr* initial) {
  *attributes = {};
  attributes->qp_state = pair->state;
  attributes->cap = of<queue_pair>(pair).sizes;
  *initial = {};
  initial->cap = attributes->cap;
  initial->qp_type = pair->qp_type;
  return 0;
}

}  // extern "C"
