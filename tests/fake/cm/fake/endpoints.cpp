// SPDX-License-Identifier: MIT
// Endpoints: identifiers whose calls wait for their events.
#include <rdma/rdma_verbs.h>

#include "state.hpp"

using namespace fake;

namespace {

/// Destroys what was begun, and gives -1 and the errno that it failed with.
int give_up(rdma_cm_id* id) {
  const int reason = errno;
  ::rdma_destroy_ep(id);
  return failed_with(reason);
}

}  // namespace

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* address, ibv_pd* domain,
                   ibv_qp_init_attr* pair) {
  fields arguments;
  arguments.add("res", show(*address)).add_unless_zero("pd", name_of(domain));
  if (pair != nullptr) arguments.add("qp_init_attr", show(*pair));
  if (answer_of<called::rdma_create_ep>(arguments) != 0) return -1;
  rdma_cm_id* const made =
      fake::add_identifier(nullptr, nullptr, static_cast<rdma_port_space>(address->ai_port_space));
  made->qp_type = static_cast<ibv_qp_type>(address->ai_qp_type);
  if ((address->ai_flags & RAI_PASSIVE) != 0) {
    if (::rdma_bind_addr(made, address->ai_src_addr) != 0) return give_up(made);
    if (pair != nullptr) known(made).pair_of_requests = *pair;
  } else {
    if (::rdma_resolve_addr(made, address->ai_src_addr, address->ai_dst_addr, 2000) != 0 ||
        ::rdma_resolve_route(made, 2000) != 0)
      return give_up(made);
    if (pair != nullptr) {
      pair->qp_type = made->qp_type;
      if (::rdma_create_qp(made, domain, pair) != 0) return give_up(made);
    }
  }
  *id = made;
  return 0;
}

void rdma_destroy_ep(rdma_cm_id* id) {
  record<called::rdma_destroy_ep>(about(id));
  if (id->qp != nullptr) ::rdma_destroy_qp(id);
  if (id->srq != nullptr) ::rdma_destroy_srq(id);
  fake::remove_identifier(id);
}

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  if (answer_of<called::rdma_get_request>(about(listener)) != 0) return -1;
  if (!known(listener).is_synchronous) return failed_with(EINVAL);
  if (fake::complete(listener) != 0) return -1;
  rdma_cm_event* const event = std::exchange(listener->event, nullptr);
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
    ::rdma_ack_cm_event(event);
    return failed_with(EINVAL);
  }
  rdma_cm_id* const made = event->id;
  // The request waits on a channel of its own.
  ::rdma_ack_cm_event(event);
  made->channel = fake::add_channel();
  if (const auto& pair = known(listener).pair_of_requests) {
    ibv_qp_init_attr attributes = *pair;
    attributes.qp_type = made->qp_type;
    if (::rdma_create_qp(made, listener->pd, &attributes) != 0) return give_up(made);
  }
  *id = made;
  return 0;
}
