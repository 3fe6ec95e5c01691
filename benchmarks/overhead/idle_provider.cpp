// SPDX-License-Identifier: MIT
// The provider that does nothing. Its functions are recognised by their namespace, and call no
// others: `run` checks that.
#include <cerrno>

#include "provider.hpp"

namespace provider {
namespace {

int post_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
int post_receive(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
int post_shared_receive(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }

// Every other completion is that of a receive.
ibv_wc_opcode opcode_of(std::uint64_t index) {
  return index % 2 == 0 ? IBV_WC_RECV : index % 4 == 1 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
}

ibv_cq sends{};

int poll(ibv_cq* queue, int room, ibv_wc* out) {
  for (int index = 0; index < room; ++index) {
    out[index].wr_id = 1000 + static_cast<std::uint64_t>(index);
    out[index].status = IBV_WC_SUCCESS;
    out[index].opcode =
        queue == &sends ? IBV_WC_RDMA_WRITE : opcode_of(static_cast<std::uint64_t>(index));
    out[index].byte_len = 64 + static_cast<std::uint32_t>(index);
    out[index].qp_num = 0x11;
    out[index].wc_flags = 0;
  }
  return room;
}

int start_poll(ibv_cq_ex* queue, ibv_poll_cq_attr*) {
  queue->wr_id = 1000;
  queue->status = IBV_WC_SUCCESS;
  return 0;
}
int next_poll(ibv_cq_ex* queue) {
  ++queue->wr_id;
  return queue->wr_id == 1000 + overhead::completions_a_round ? ENOENT : 0;
}
void end_poll(ibv_cq_ex*) {}
ibv_wc_opcode read_opcode(ibv_cq_ex* queue) { return opcode_of(queue->wr_id - 1000); }
std::uint32_t read_length(ibv_cq_ex* queue) {
  return 64 + static_cast<std::uint32_t>(queue->wr_id - 1000);
}
std::uint64_t read_timestamp(ibv_cq_ex* queue) { return 3 * queue->wr_id; }

void start(ibv_qp_ex*) {}
int complete(ibv_qp_ex*) { return 0; }
void abort(ibv_qp_ex*) {}
void send(ibv_qp_ex*) {}
void send_immediate(ibv_qp_ex*, __be32) {}
void write(ibv_qp_ex*, std::uint32_t, std::uint64_t) {}
void write_immediate(ibv_qp_ex*, std::uint32_t, std::uint64_t, __be32) {}
void read(ibv_qp_ex*, std::uint32_t, std::uint64_t) {}
void compare_and_swap(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t) {}
void fetch_and_add(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint64_t) {}
void bind_window(ibv_qp_ex*, ibv_mw*, std::uint32_t, const ibv_mw_bind_info*) {}
void local_invalidate(ibv_qp_ex*, std::uint32_t) {}
void send_invalidate(ibv_qp_ex*, std::uint32_t) {}
void segmented(ibv_qp_ex*, void*, std::uint16_t, std::uint16_t) {}
void set_destination(ibv_qp_ex*, ibv_ah*, std::uint32_t, std::uint32_t) {}
void set_element(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint32_t) {}
void set_elements(ibv_qp_ex*, std::size_t, const ibv_sge*) {}
void set_inline(ibv_qp_ex*, void*, std::size_t) {}
void set_inline_list(ibv_qp_ex*, std::size_t, const ibv_data_buf*) {}

struct objects {
  ibv_context context{};
  ibv_pd domain{};
  ibv_cq queue{};
  ibv_cq_ex extended{};
  ibv_qp_ex pair{};
  ibv_qp datagrams{};
  ibv_srq shared{};
  ibv_ah address{};
  overhead::c_objects for_jobs{};

  objects() {
    context.ops.post_send = post_send;
    context.ops.post_recv = post_receive;
    context.ops.post_srq_recv = post_shared_receive;
    context.ops.poll_cq = poll;
    queue.cqe = sends.cqe = 4096;
    queue.context = sends.context = extended.context = shared.context = address.context = &context;
    domain.context = &context;
    shared.pd = &domain;
    extended.start_poll = start_poll;
    extended.next_poll = next_poll;
    extended.end_poll = end_poll;
    extended.read_opcode = read_opcode;
    extended.read_byte_len = read_length;
    extended.read_completion_ts = read_timestamp;
    connect(pair.qp_base, IBV_QPT_RC);
    connect(datagrams, IBV_QPT_UD);
    pair.wr_start = start;
    pair.wr_complete = complete;
    pair.wr_abort = abort;
    pair.wr_send = send;
    pair.wr_send_imm = send_immediate;
    pair.wr_send_inv = send_invalidate;
    pair.wr_send_tso = segmented;
    pair.wr_rdma_write = write;
    pair.wr_rdma_write_imm = write_immediate;
    pair.wr_rdma_read = read;
    pair.wr_atomic_cmp_swp = compare_and_swap;
    pair.wr_atomic_fetch_add = fetch_and_add;
    pair.wr_bind_mw = bind_window;
    pair.wr_local_inv = local_invalidate;
    pair.wr_set_ud_addr = set_destination;
    pair.wr_set_sge = set_element;
    pair.wr_set_sge_list = set_elements;
    pair.wr_set_inline_data = set_inline;
    pair.wr_set_inline_data_list = set_inline_list;
    for_jobs = {.pair = &pair.qp_base,
                .datagrams = &datagrams,
                .sender = &pair,
                .queue = &queue,
                .sends = &sends,
                .extended = &extended,
                .shared = &shared,
                .address = &address,
                .memory = 0x10000000,
                .memory_size = overhead::block_count * overhead::block_size,
                .local_key = 0x1234,
                .remote_address = 0x20000000,
                .remote_key = 0x5678};
  }

  void connect(ibv_qp& pair_of_kind, ibv_qp_type kind) {
    pair_of_kind.context = &context;
    pair_of_kind.pd = &domain;
    pair_of_kind.send_cq = pair_of_kind.recv_cq = &queue;
    pair_of_kind.qp_num = 0x11;
    pair_of_kind.qp_type = kind;
    pair_of_kind.state = IBV_QPS_RTS;
  }
};

}  // namespace

const overhead::c_objects& idle() noexcept {
  static objects all;
  return all.for_jobs;
}

}  // namespace provider

// The attributes that a send window reads from its pair. libibverbs' own function queries the
// kernel.
int ibv_query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int, ibv_qp_init_attr* initial) {
  *attributes = {};
  attributes->qp_state = pair->state;
  attributes->cap.max_send_wr = 128;
  *initial = {};
  initial->qp_type = pair->qp_type;
  initial->cap = attributes->cap;
  return 0;
}

// The one of libibverbs looks for what only its own providers have.
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* pair) { return reinterpret_cast<ibv_qp_ex*>(pair); }
