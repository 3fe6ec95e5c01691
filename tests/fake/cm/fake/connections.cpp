// SPDX-License-Identifier: MIT
// From an address to a connection, and its end.
#include <arpa/inet.h>

#include "state.hpp"

using fake::answer_of;
using fake::cm_progress;
using fake::failed_with;
using fake::known;
using fake::lead_to;
using fake::managed;
namespace called = fake::called;

namespace {

std::string bytes(const void* data, std::size_t size) {
  return data == nullptr ? std::string{} : std::string{static_cast<const char*>(data), size};
}

fake::told_peer copy_of(const rdma_conn_param& parameters) {
  fake::told_peer copy{parameters, bytes(parameters.private_data, parameters.private_data_len)};
  copy.native.private_data = nullptr;
  return copy;
}

bool is_datagram(const rdma_cm_id* id) { return id->qp_type == IBV_QPT_UD; }

}  // namespace

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int milliseconds) {
  if (answer_of(
          called::rdma_resolve_addr{id, fake::copy_of(from), fake::copy_of(to), milliseconds}) != 0)
    return -1;
  cm_progress& progress = known(id).progress;
  if (fake::length_of(to) == 0 || (progress != cm_progress::idle && progress != cm_progress::bound))
    return failed_with(EINVAL);
  progress = cm_progress::resolving_address;
  id->route.addr.dst_storage = fake::copy_of(to);
  if (id->route.addr.src_addr.sa_family == AF_UNSPEC) {
    id->route.addr.src_sin.sin_family = AF_INET;
    id->route.addr.src_sin.sin_addr.s_addr = htonl(0x0a000001);
    id->route.addr.src_sin.sin_port = htons(++managed().last_port);
  }
  return lead_to<called::rdma_resolve_addr>(id, {RDMA_CM_EVENT_ADDR_RESOLVED});
}

int rdma_resolve_route(rdma_cm_id* id, int milliseconds) {
  if (answer_of(called::rdma_resolve_route{id, milliseconds}) != 0) return -1;
  if (known(id).progress != cm_progress::address_resolved) return failed_with(EINVAL);
  known(id).progress = cm_progress::resolving_route;
  return lead_to<called::rdma_resolve_route>(id, {RDMA_CM_EVENT_ROUTE_RESOLVED});
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  const rdma_conn_param given = parameters != nullptr ? *parameters : rdma_conn_param{};
  if (answer_of(called::rdma_connect{id, copy_of(given)}) != 0) return -1;
  if (known(id).progress != cm_progress::route_resolved) return failed_with(EINVAL);
  known(id).progress = cm_progress::connecting;
  return lead_to<called::rdma_connect>(
      id, {is_datagram(id) ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE});
}

int rdma_establish(rdma_cm_id* id) {
  if (answer_of(called::rdma_establish{id}) != 0) return -1;
  if (known(id).progress != cm_progress::connecting) return failed_with(EINVAL);
  known(id).progress = cm_progress::connected;
  return 0;
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  if (answer_of(called::rdma_listen{id, backlog}) != 0) return -1;
  if (known(id).progress != cm_progress::bound) return failed_with(EINVAL);
  known(id).progress = cm_progress::listening;
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  std::optional<fake::told_peer> peer;
  if (parameters != nullptr) peer = copy_of(*parameters);
  if (answer_of(called::rdma_accept{id, peer}) != 0) return -1;
  if (known(id).progress != cm_progress::requested) return failed_with(EINVAL);
  known(id).progress = cm_progress::connecting;
  if (is_datagram(id)) return 0;  // Whoever answers a datagram hears no more of it.
  if (fake::move_pair(id, IBV_QPS_RTR) != 0 || fake::move_pair(id, IBV_QPS_RTS) != 0) return -1;
  return lead_to<called::rdma_accept>(id, {RDMA_CM_EVENT_ESTABLISHED});
}

int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t length) {
  return answer_of(called::rdma_reject{id, bytes(data, length)});
}
int rdma_reject_ece(rdma_cm_id* id, const void* data, std::uint8_t length) {
  return answer_of(called::rdma_reject_ece{id, bytes(data, length)});
}

int rdma_disconnect(rdma_cm_id* id) {
  if (answer_of(called::rdma_disconnect{id}) != 0) return -1;
  cm_progress& progress = known(id).progress;
  if (progress != cm_progress::connecting && progress != cm_progress::connected &&
      progress != cm_progress::disconnected)
    return failed_with(EINVAL);
  if (fake::move_pair(id, IBV_QPS_ERR) != 0) return -1;
  // Who answers the peer's disconnect hears no more of it.
  if (progress == cm_progress::disconnected) return 0;
  return lead_to<called::rdma_disconnect>(id, {RDMA_CM_EVENT_DISCONNECTED});
}
