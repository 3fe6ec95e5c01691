// SPDX-License-Identifier: MIT
// The queue pairs and shared receive queues of identifiers, made through libibverbs as librdmacm
// makes them.
#include <rdma/rdma_verbs.h>

#include "state.hpp"

using namespace fake;

namespace {

/// Attributes that older kernels name on InfiniBand too, which refuses them: IB_QP_SMAC to
/// IB_QP_VID.
constexpr int attributes_of_roce = 0xe00000;

bool is_infiniband(const rdma_cm_id* id) {
  return fake::port_of(id->verbs, id->port_num)->attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

constexpr unsigned remote_rights = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

bool knows_peer(const rdma_cm_id* id) {
  const auto progress = known(id).progress;
  return progress == fake::cm_progress::requested || progress == fake::cm_progress::connecting ||
         progress == fake::cm_progress::connected;
}

bool answers_reads(const rdma_cm_id* id) {
  return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV;
}
bool sends_reads(const rdma_cm_id* id) {
  return id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND;
}

/// The attributes that move a pair of this identifier to the state, as the kernel computes them.
int attributes_for(const rdma_cm_id* id, ibv_qp_state state, ibv_qp_attr& attributes) {
  const bool is_datagram = id->qp_type == IBV_QPT_UD;
  attributes.qp_state = state;
  switch (state) {
    case IBV_QPS_INIT:
      attributes.port_num = id->port_num;
      attributes.qkey = RDMA_UDP_QKEY;
      // There are no rights before the exchange with the peer begins.
      attributes.qp_access_flags = knows_peer(id) ? remote_rights : 0;
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
             (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      if (is_datagram) return IBV_QP_STATE;
      attributes.ah_attr.is_global = 1;
      attributes.ah_attr.port_num = id->port_num;
      attributes.ah_attr.grh.sgid_index = 2;
      attributes.path_mtu = IBV_MTU_1024;
      attributes.dest_qp_num = 0x77;
      attributes.max_dest_rd_atomic = 1;
      attributes.min_rnr_timer = 12;
      return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             (answers_reads(id) ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0) |
             (is_infiniband(id) ? attributes_of_roce : 0);
    case IBV_QPS_RTS:
      if (is_datagram) return IBV_QP_STATE | IBV_QP_SQ_PSN;
      attributes.timeout = 19;
      attributes.retry_cnt = 6;
      attributes.rnr_retry = 7;
      attributes.max_rd_atomic = 1;
      return IBV_QP_STATE | IBV_QP_SQ_PSN | (id->qp_type != IBV_QPT_UC ? IBV_QP_TIMEOUT : 0) |
             (sends_reads(id) ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
    default: return IBV_QP_STATE;
  }
}

void destroy_completion_queues(rdma_cm_id* id) {
  if (id->recv_cq != nullptr) ::ibv_destroy_cq(std::exchange(id->recv_cq, nullptr));
  if (id->recv_cq_channel != nullptr)
    ::ibv_destroy_comp_channel(std::exchange(id->recv_cq_channel, nullptr));
  if (id->send_cq != nullptr) ::ibv_destroy_cq(std::exchange(id->send_cq, nullptr));
  if (id->send_cq_channel != nullptr)
    ::ibv_destroy_comp_channel(std::exchange(id->send_cq_channel, nullptr));
}

/// Makes a completion queue with a channel of its own.
bool create_completion_queue(rdma_cm_id* id, std::uint32_t size, ibv_comp_channel*& channel,
                             ibv_cq*& queue) {
  if (size == 0) return true;
  channel = ::ibv_create_comp_channel(id->verbs);
  if (channel == nullptr) return false;
  queue = ::ibv_create_cq(id->verbs, static_cast<int>(size), id, channel, 0);
  return queue != nullptr;
}

/// Makes the pair with `create`, and what it stands on; `attributes` gets the queues that were
/// made.
template <class Attributes, class Create>
int create_pair(rdma_cm_id* id, Attributes& attributes, const Create& create) {
  if (id->verbs == nullptr || id->qp != nullptr) return failed_with(EINVAL);
  const bool has_queues =
      create_completion_queue(id, attributes.send_cq != nullptr ? 0 : attributes.cap.max_send_wr,
                              id->send_cq_channel, id->send_cq) &&
      create_completion_queue(id, attributes.recv_cq != nullptr ? 0 : attributes.cap.max_recv_wr,
                              id->recv_cq_channel, id->recv_cq);
  if (has_queues) {
    if (attributes.send_cq == nullptr) attributes.send_cq = id->send_cq;
    if (attributes.recv_cq == nullptr) attributes.recv_cq = id->recv_cq;
    if (id->srq != nullptr && attributes.srq == nullptr) attributes.srq = id->srq;
    id->qp = create();
  }
  const bool is_datagram = id->qp_type == IBV_QPT_UD;
  const bool is_ready = id->qp != nullptr && fake::move_pair(id, IBV_QPS_INIT) == 0 &&
                        (!is_datagram || (fake::move_pair(id, IBV_QPS_RTR) == 0 &&
                                          fake::move_pair(id, IBV_QPS_RTS) == 0));
  if (is_ready) return 0;
  const int reason = errno;
  if (id->qp != nullptr) ::ibv_destroy_qp(std::exchange(id->qp, nullptr));
  destroy_completion_queues(id);
  return failed_with(reason);
}

}  // namespace

namespace fake {

int move_pair(rdma_cm_id* id, ibv_qp_state state) {
  if (id->qp == nullptr) return 0;
  ibv_qp_attr attributes{};
  // The attributes of INIT once more, because they are others as soon as the peer is known.
  if (state == IBV_QPS_RTR && id->qp_type != IBV_QPT_UD && move_pair(id, IBV_QPS_INIT) != 0)
    return -1;
  const int mask = attributes_for(id, state, attributes) & ~attributes_of_roce;
  const int error = ::ibv_modify_qp(id->qp, &attributes, mask);
  return error == 0 ? 0 : failed_with(error);
}

}  // namespace fake

int rdma_create_qp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (answer_of<called::rdma_create_qp>(
          about(id).object(domain).members(fake::show(*attributes))) != 0)
    return -1;
  return create_pair(id, *attributes, [&] {
    return ::ibv_create_qp(domain != nullptr ? domain : id->pd, attributes);
  });
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) {
  if (answer_of<called::rdma_create_qp_ex>(about(id).members(fake::show(*attributes))) != 0)
    return -1;
  return create_pair(id, *attributes, [&] { return ::ibv_create_qp_ex(id->verbs, attributes); });
}

void rdma_destroy_qp(rdma_cm_id* id) {
  record<called::rdma_destroy_qp>(about(id));
  ::ibv_destroy_qp(std::exchange(id->qp, nullptr));
  destroy_completion_queues(id);
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* domain, ibv_srq_init_attr* attributes) {
  if (answer_of<called::rdma_create_srq>(
          about(id).object(domain).members(fake::show(*attributes))) != 0)
    return -1;
  id->srq = ::ibv_create_srq(domain != nullptr ? domain : id->pd, attributes);
  return id->srq != nullptr ? 0 : -1;
}
int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) {
  if (answer_of<called::rdma_create_srq_ex>(about(id).members(fake::show(*attributes))) != 0)
    return -1;
  id->srq = ::ibv_create_srq_ex(id->verbs, attributes);
  return id->srq != nullptr ? 0 : -1;
}
void rdma_destroy_srq(rdma_cm_id* id) {
  record<called::rdma_destroy_srq>(about(id));
  ::ibv_destroy_srq(std::exchange(id->srq, nullptr));
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  if (answer_of<called::rdma_init_qp_attr>(
          about(id).add("qp_state", pair_state(attributes->qp_state))) != 0)
    return -1;
  *mask = attributes_for(id, attributes->qp_state, *attributes);
  return 0;
}
