// SPDX-License-Identifier: MIT
#include "provider.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#undef ibv_query_port
#undef ibv_reg_mr

namespace provider {
namespace {

/// Objects of one kind, in memory of the program. They are made in the order of their addresses,
/// and used again.
template <class Object>
struct pool {
  struct place {
    Object object;
    place* next;
  };
  place places[max_objects];
  place* free;
  int used;

  Object* take() noexcept {
    if (free == nullptr) return used == max_objects ? nullptr : &places[used++].object;
    place* const taken = free;
    free = taken->next;
    return &taken->object;
  }
  void give_back(Object* object) noexcept {
    place* const given = reinterpret_cast<place*>(object);
    given->next = free;
    free = given;
  }
};

pool<ibv_pd> domains;
pool<ibv_cq> queues;
pool<ibv_qp> pairs;
pool<ibv_mr> regions;
connection last;

int query_device(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes,
                 std::size_t) {
  attributes->orig_attr.max_mr_size = UINT64_MAX;
  attributes->orig_attr.phys_port_cnt = 1;
  attributes->orig_attr.max_qp_rd_atom = 16;
  attributes->orig_attr.max_qp_init_rd_atom = 16;
  return 0;
}

int query_port(ibv_context*, std::uint8_t, ibv_port_attr* attributes, std::size_t) {
  attributes->state = IBV_PORT_ACTIVE;
  attributes->active_mtu = IBV_MTU_4096;
  attributes->gid_tbl_len = 16;
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

constexpr int gids = 4;

/// GIDs 0 and 1 are link-local, 2 and 3 are of IPv4. Each address has one of RoCE v1 and one of v2.
[[gnu::always_inline]] inline void write_gid(ibv_gid& gid, int index) {
  const bool is_ipv4 = index >= 2;
  gid.global.subnet_prefix = is_ipv4 ? 0 : 0x80fe;
  gid.global.interface_id = is_ipv4 ? 0x0100000affff0000 : 0x0100000a00000000;
}

struct device {
  ibv_device native{};
  verbs_context context{};

  device() {
    native.name[0] = 'd';
    context.sz = sizeof context;
    context.query_device_ex = query_device;
    context.query_port = query_port;
    context.context.device = &native;
    context.context.abi_compat = reinterpret_cast<void*>(UINTPTR_MAX);
    context.context.num_comp_vectors = 1;
  }
};

}  // namespace

ibv_context* open_device() noexcept {
  static device opened;
  return &opened.context.context;
}

const connection& last_connection() noexcept { return last; }

}  // namespace provider

using provider::domains, provider::queues, provider::pairs, provider::regions, provider::last;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  ibv_pd* const made = domains.take();
  if (made != nullptr) made->context = context;
  return made;
}
int ibv_dealloc_pd(ibv_pd* domain) {
  domains.give_back(domain);
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, ibv_comp_channel*, int) {
  ibv_cq* const made = queues.take();
  if (made == nullptr) return nullptr;
  made->context = context;
  made->cqe = entries;
  return made;
}
int ibv_destroy_cq(ibv_cq* queue) {
  queues.give_back(queue);
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* memory, std::size_t length, int) {
  ibv_mr* const made = regions.take();
  if (made == nullptr) return nullptr;
  made->context = domain->context;
  made->pd = domain;
  made->addr = memory;
  made->length = length;
  return made;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* memory, std::size_t length, std::uint64_t,
                         unsigned) {
  ibv_mr* const made = regions.take();
  if (made == nullptr) return nullptr;
  made->context = domain->context;
  made->pd = domain;
  made->addr = memory;
  made->length = length;
  return made;
}
int ibv_dereg_mr(ibv_mr* region) {
  regions.give_back(region);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* options) {
  ibv_qp* const made = pairs.take();
  if (made == nullptr) return nullptr;
  made->context = domain->context;
  made->pd = domain;
  made->send_cq = options->send_cq;
  made->recv_cq = options->recv_cq;
  made->srq = options->srq;
  made->qp_type = options->qp_type;
  made->qp_num = 0x11;
  made->state = IBV_QPS_RESET;
  return made;
}
int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* to, int mask) {
  pair->state = to->qp_state;
  switch (to->qp_state) {
    case IBV_QPS_INIT:
      last.masks[0] = mask;
      last.access = static_cast<int>(to->qp_access_flags);
      last.port = to->port_num;
      break;
    case IBV_QPS_RTR:
      last.masks[1] = mask;
      last.source_gid = to->ah_attr.grh.sgid_index;
      last.hop_limit = to->ah_attr.grh.hop_limit;
      last.path_mtu = to->path_mtu;
      last.rnr_timer = to->min_rnr_timer;
      last.max_destination_read_atomic = to->max_dest_rd_atomic;
      break;
    default:
      last.masks[2] = mask;
      last.timeout = to->timeout;
      last.retry_count = to->retry_cnt;
      last.rnr_retry_count = to->rnr_retry;
      last.max_initiator_read_atomic = to->max_rd_atomic;
      break;
  }
  return 0;
}
int ibv_query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int, ibv_qp_init_attr* options) {
  attributes->qp_state = pair->state;
  options->qp_type = pair->qp_type;
  attributes->cap.max_send_wr = options->cap.max_send_wr = 16;
  return 0;
}
int ibv_destroy_qp(ibv_qp* pair) {
  pairs.give_back(pair);
  return 0;
}

int ibv_query_gid(ibv_context*, std::uint8_t, int index, ibv_gid* gid) {
  provider::write_gid(*gid, index);
  return 0;
}
ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t room, std::uint32_t,
                             std::size_t) {
  if (room < provider::gids) return -EINVAL;
  for (int index = 0; index < provider::gids; ++index) {
    provider::write_gid(entries[index].gid, index);
    entries[index].gid_index = static_cast<std::uint32_t>(index);
    entries[index].port_num = 1;
    entries[index].gid_type = index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    entries[index].ndev_ifindex = 1;
  }
  return provider::gids;
}

}  // extern "C"
