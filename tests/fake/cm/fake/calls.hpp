// SPDX-License-Identifier: MIT
// The calls of librdmacm that the fake records: ../../calls.hpp describes these types.
#pragma once

#include <string>

#include <rdma/rdma_cma.h>

namespace fake::called {

struct rdma_create_event_channel {};
struct rdma_destroy_event_channel {};
struct rdma_create_id {
  rdma_event_channel* channel;
};
struct rdma_destroy_id {};
struct rdma_migrate_id {
  rdma_event_channel* channel;
};
struct rdma_create_ep {};
struct rdma_destroy_ep {};
struct rdma_get_request {};
struct rdma_bind_addr {};
struct rdma_resolve_addr {};
struct rdma_resolve_route {};
struct rdma_get_src_port {};
struct rdma_get_dst_port {};
struct rdma_create_qp {};
struct rdma_create_qp_ex {};
struct rdma_destroy_qp {};
struct rdma_create_srq {};
struct rdma_create_srq_ex {};
struct rdma_destroy_srq {};
struct rdma_init_qp_attr {};
struct rdma_connect {
  std::string private_data;
};
struct rdma_establish {};
struct rdma_listen {
  rdma_cm_id* id;
};
struct rdma_accept {};
struct rdma_reject {};
struct rdma_reject_ece {};
struct rdma_notify {};
struct rdma_disconnect {};
struct rdma_join_multicast {
  void* context;
};
struct rdma_join_multicast_ex {};
struct rdma_leave_multicast {};
struct rdma_get_cm_event {};
struct rdma_ack_cm_event {
  rdma_cm_event_type type;
};
struct rdma_event_str {};
struct rdma_get_devices {};
struct rdma_free_devices {};
struct rdma_set_option {};
struct rdma_getaddrinfo {};
struct rdma_freeaddrinfo {};
struct rdma_resolve_addrinfo {};
struct rdma_query_addrinfo {};
struct rdma_write_cm_event {};
struct rdma_set_local_ece {};
struct rdma_get_remote_ece {};

}  // namespace fake::called
