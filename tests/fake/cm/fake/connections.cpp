// SPDX-License-Identifier: MIT
// From an address to a connection, and its end.
#include <arpa/inet.h>

#include "state.hpp"

using namespace fake;

namespace {

std::string bytes(const void* data, std::size_t size) {
  return data == nullptr ? std::string{} : std::string{static_cast<const char*>(data), size};
}

std::string private_data_of(const rdma_conn_param& given) {
  return bytes(given.private_data, given.private_data_len);
}

/// The identifier, and what goes with a request to connect or its acceptance.
fields about_connecting(const rdma_cm_id* id, const rdma_conn_param& given) {
  fields text = about(id);
  const std::string private_data = private_data_of(given);
  if (!private_data.empty()) text.add("private_data", {quoted(private_data), false});
  if (given.private_data_len != private_data.size())
    text.add("private_data_len", given.private_data_len);
  return text.add("responder_resources", given.responder_resources)
      .add("initiator_depth", given.initiator_depth)
      .add("flow_control", given.flow_control)
      .add("retry_count", given.retry_count)
      .add("rnr_retry_count", given.rnr_retry_count)
      .add_unless_zero("srq", given.srq)
      .add_unless_zero("qp_num", hex(given.qp_num));
}

bool is_datagram(const rdma_cm_id* id) { return id->qp_type == IBV_QPT_UD; }

}  // namespace

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int milliseconds) {
  if (answer_of<called::rdma_resolve_addr>(
          about(id)
              .add_unless_zero("src_addr", show(fake::copy_of(from)))
              .add("dst_addr", show(fake::copy_of(to)))
              .add("timeout_ms", milliseconds)) != 0)
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
  if (answer_of<called::rdma_resolve_route>(about(id).add("timeout_ms", milliseconds)) != 0)
    return -1;
  if (known(id).progress != cm_progress::address_resolved) return failed_with(EINVAL);
  known(id).progress = cm_progress::resolving_route;
  return lead_to<called::rdma_resolve_route>(id, {RDMA_CM_EVENT_ROUTE_RESOLVED});
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  const rdma_conn_param given = parameters != nullptr ? *parameters : rdma_conn_param{};
  if (answer_of<called::rdma_connect>(about_connecting(id, given), {private_data_of(given)}) != 0)
    return -1;
  if (known(id).progress != cm_progress::route_resolved) return failed_with(EINVAL);
  known(id).progress = cm_progress::connecting;
  return lead_to<called::rdma_connect>(
      id, {is_datagram(id) ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE});
}

int rdma_establish(rdma_cm_id* id) {
  if (answer_of<called::rdma_establish>(about(id)) != 0) return -1;
  if (known(id).progress != cm_progress::connecting) return failed_with(EINVAL);
  known(id).progress = cm_progress::connected;
  return 0;
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  if (answer_of<called::rdma_listen>(about(id).add("backlog", backlog), {id}) != 0) return -1;
  if (known(id).progress != cm_progress::bound) return failed_with(EINVAL);
  known(id).progress = cm_progress::listening;
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  if (answer_of<called::rdma_accept>(parameters != nullptr ? about_connecting(id, *parameters)
                                                           : about(id).word("null")) != 0)
    return -1;
  if (known(id).progress != cm_progress::requested) return failed_with(EINVAL);
  known(id).progress = cm_progress::connecting;
  if (is_datagram(id)) return 0;  // The answer to a datagram raises no event.
  if (fake::move_pair(id, IBV_QPS_RTR) != 0 || fake::move_pair(id, IBV_QPS_RTS) != 0) return -1;
  return lead_to<called::rdma_accept>(id, {RDMA_CM_EVENT_ESTABLISHED});
}

int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t length) {
  return answer_of<called::rdma_reject>(
      about(id).add("private_data", {quoted(bytes(data, length)), false}));
}
int rdma_reject_ece(rdma_cm_id* id, const void* data, std::uint8_t length) {
  return answer_of<called::rdma_reject_ece>(
      about(id).add("private_data", {quoted(bytes(data, length)), false}));
}

int rdma_disconnect(rdma_cm_id* id) {
  if (answer_of<called::rdma_disconnect>(about(id)) != 0) return -1;
  cm_progress& progress = known(id).progress;
  if (progress != cm_progress::connecting && progress != cm_progress::connected &&
      progress != cm_progress::disconnected)
    return failed_with(EINVAL);
  if (fake::move_pair(id, IBV_QPS_ERR) != 0) return -1;
  // The answer to the peer's disconnect raises no event.
  if (progress == cm_progress::disconnected) return 0;
  return lead_to<called::rdma_disconnect>(id, {RDMA_CM_EVENT_DISCONNECTED});
}
