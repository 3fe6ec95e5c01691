// SPDX-License-Identifier: MIT
// Multicast groups.
#include <algorithm>
#include <cstring>

#include "state.hpp"

using namespace fake;

namespace {

/// The pointer of a join by name; "unnamed" for a join inside the library.
shown context_of_join(const void* context) {
  const shown found = name_of(context);
  return found.text.starts_with("0x") ? shown{"unnamed", false} : found;
}

/// The GID that stands for a group: librdmacm maps IPv4 ones into one of its own form.
ibv_gid gid_of(const sockaddr_storage& group) {
  ibv_gid gid{};
  if (group.ss_family == AF_INET6)
    std::memcpy(&gid, &reinterpret_cast<const sockaddr_in6&>(group).sin6_addr, sizeof gid);
  else {
    gid.raw[0] = 0xff;
    gid.raw[1] = 0x0e;
    std::memcpy(gid.raw + 12, &reinterpret_cast<const sockaddr_in&>(group).sin_addr, 4);
  }
  return gid;
}

template <class Call>
int join(rdma_cm_id* id, const sockaddr_storage& group, bool receives, void* context) {
  if (id->verbs == nullptr || group.ss_family == AF_UNSPEC) return failed_with(EINVAL);
  const ibv_gid gid = gid_of(group);
  const bool attaches = receives && id->qp != nullptr;
  if (attaches)
    if (const int error = ::ibv_attach_mcast(id->qp, &gid, 0xc001)) return failed_with(error);
  known(id).groups.push_back({group, attaches, context});
  fake::cm_event joined{RDMA_CM_EVENT_MULTICAST_JOIN};
  joined.datagram.private_data = context;
  joined.datagram.ah_attr.grh.dgid = gid;
  joined.datagram.ah_attr.is_global = 1;
  joined.datagram.ah_attr.port_num = id->port_num;
  joined.datagram.ah_attr.grh.sgid_index = 2;
  joined.datagram.qp_num = 0xffffff;
  joined.datagram.qkey = RDMA_UDP_QKEY;
  return fake::lead_to<Call>(id, joined);
}

}  // namespace

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  const sockaddr_storage group = fake::copy_of(address);
  if (answer_of<called::rdma_join_multicast>(
          about(id).add("addr", show(group)).add_unless_zero("context", context_of_join(context)),
          {context}) != 0)
    return -1;
  return join<called::rdma_join_multicast>(id, group, true, context);
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* context) {
  const sockaddr_storage group = fake::copy_of(attributes->addr);
  const auto has = [&](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  if (answer_of<called::rdma_join_multicast_ex>(
          about(id)
              .add_or_stray(has(RDMA_CM_JOIN_MC_ATTR_ADDRESS), "addr", show(group))
              .add_or_stray(has(RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS), "join_flags",
                            enumerator(attributes->join_flags,
                                       {NAMED(RDMA_MC_JOIN_FLAG_, FULLMEMBER),
                                        NAMED(RDMA_MC_JOIN_FLAG_, SENDONLY_FULLMEMBER)}))
              .unknown_bits(attributes->comp_mask,
                            RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)
              .add_unless_zero("context", context_of_join(context))) != 0)
    return -1;
  return join<called::rdma_join_multicast_ex>(
      id, group, attributes->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  const sockaddr_storage group = fake::copy_of(address);
  if (answer_of<called::rdma_leave_multicast>(about(id).add("addr", show(group))) != 0) return -1;
  auto& groups = known(id).groups;
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& each) {
    return std::memcmp(&each.group, &group, sizeof group) == 0;
  });
  if (found == groups.end()) return failed_with(EADDRNOTAVAIL);
  if (known(id).unacknowledged != 0)
    fake::misused("a group was left before an event of the identifier was acknowledged");
  const ibv_gid gid = gid_of(group);
  if (found->attached && id->qp != nullptr) ::ibv_detach_mcast(id->qp, &gid, 0xc001);
  groups.erase(found);
  return 0;
}
