// SPDX-License-Identifier: MIT
// Careful C: values that are the same for all pairs are queried once, and only the fields that a
// call reads are written.
#include <cstring>

#include <sys/random.h>

#include "work.hpp"

namespace control {
namespace {

/// The values that this side sends to its peer.
struct endpoint {
  std::uint32_t number;
  std::uint32_t psn;
  std::uint16_t lid;
  ibv_gid gid;
  ibv_mtu mtu;
  std::uint8_t max_destination_read_atomic;
  std::uint8_t max_initiator_read_atomic;
};

/// The values that are queried once for all pairs.
struct path {
  std::uint8_t source_gid;
  endpoint mine;
};

/// Queries the values that can change: the port and the GIDs.
bool ask_for_port(ibv_context* context, path* way) {
  ibv_port_attr port;
  ibv_gid_entry entries[64];
  if (ibv_query_port(context, 1, &port) != 0) return false;
  const ssize_t count = ibv_query_gid_table(context, entries, 64, 0);
  for (ssize_t index = 0; index < count; ++index) {
    if (entries[index].port_num != 1 || entries[index].gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    way->source_gid = static_cast<std::uint8_t>(entries[index].gid_index);
    way->mine.gid = entries[index].gid;
  }
  way->mine.lid = port.lid;
  way->mine.mtu = port.active_mtu;
  return count >= 0;
}

bool ask(ibv_context* context, path* way) {
  ibv_device_attr_ex device;
  if (ibv_query_device_ex(context, nullptr, &device) != 0) return false;
  way->mine.max_destination_read_atomic =
      static_cast<std::uint8_t>(device.orig_attr.max_qp_rd_atom);
  way->mine.max_initiator_read_atomic =
      static_cast<std::uint8_t>(device.orig_attr.max_qp_init_rd_atom);
  return ask_for_port(context, way);
}

template <class T>
T lower_of(T one, T other) {
  return one < other ? one : other;
}

ibv_qp* connected(ibv_pd* domain, ibv_cq* queue, const path& way) {
  ibv_qp_init_attr options;
  std::memset(&options, 0, sizeof options);
  options.send_cq = queue;
  options.recv_cq = queue;
  options.qp_type = IBV_QPT_RC;
  options.cap.max_send_wr = requests;
  options.cap.max_recv_wr = requests;
  options.cap.max_send_sge = 1;
  options.cap.max_recv_sge = 1;
  ibv_qp* const pair = ibv_create_qp(domain, &options);
  if (pair == nullptr) return nullptr;

  endpoint mine = way.mine;
  mine.number = pair->qp_num;
  if (getrandom(&mine.psn, sizeof mine.psn, 0) < 0) return nullptr;
  mine.psn &= 0xffffff;
  const endpoint theirs = mine;

  ibv_qp_attr to;
  std::memset(&to, 0, sizeof to);
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (ibv_modify_qp(pair, &to,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    return nullptr;
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = lower_of(mine.mtu, theirs.mtu);
  to.dest_qp_num = theirs.number;
  to.rq_psn = theirs.psn;
  to.max_dest_rd_atomic =
      lower_of(mine.max_destination_read_atomic, theirs.max_initiator_read_atomic);
  to.min_rnr_timer = 12;
  to.ah_attr.is_global = 1;
  to.ah_attr.dlid = theirs.lid;
  to.ah_attr.port_num = 1;
  to.ah_attr.grh.dgid = theirs.gid;
  to.ah_attr.grh.sgid_index = way.source_gid;
  to.ah_attr.grh.hop_limit = 64;
  if (ibv_modify_qp(pair, &to,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    return nullptr;
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = mine.psn;
  to.timeout = 14;
  to.retry_cnt = 6;
  to.rnr_retry = 7;
  to.max_rd_atomic = lower_of(mine.max_initiator_read_atomic, theirs.max_destination_read_atomic);
  if (ibv_modify_qp(pair, &to,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    return nullptr;
  return pair;
}

}  // namespace

std::uint64_t pair_in_c(const shared& with, std::uint64_t count) {
  path way{};
  if (!ask(with.context, &way)) return 0;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    ibv_qp* const pair = connected(with.domain, with.queue, way);
    if (pair == nullptr || ibv_destroy_qp(pair) != 0) break;
  }
  return done;
}

std::uint64_t asking_pair_in_c(const shared& with, std::uint64_t count) {
  path way{};
  if (!ask(with.context, &way)) return 0;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    if (!ask_for_port(with.context, &way)) break;
    ibv_qp* const pair = connected(with.domain, with.queue, way);
    if (pair == nullptr || ibv_destroy_qp(pair) != 0) break;
  }
  return done;
}

std::uint64_t region_in_c(const shared& with, std::uint64_t count) {
  static char memory[4096];
  constexpr int rights = IBV_ACCESS_LOCAL_WRITE;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    ibv_mr* const region = ibv_reg_mr(with.domain, memory, sizeof memory, rights);
    if (region == nullptr || ibv_dereg_mr(region) != 0) break;
  }
  return done;
}

std::uint64_t own_queue_in_c(const shared& with, std::uint64_t count) {
  path way{};
  if (!ask(with.context, &way)) return 0;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    ibv_cq* const queue = ibv_create_cq(with.context, 2 * requests, nullptr, nullptr, 0);
    if (queue == nullptr) break;
    ibv_qp* const pair = connected(with.domain, queue, way);
    if (pair == nullptr || ibv_destroy_qp(pair) != 0 || ibv_destroy_cq(queue) != 0) break;
  }
  return done;
}

}  // namespace control
