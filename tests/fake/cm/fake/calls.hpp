// SPDX-License-Identifier: MIT
// What the fake of librdmacm records: one type for each function of the C API, with the arguments
// it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <rdma/rdma_cma.h>

namespace fake {

/// What goes with a request to connect, or with its acceptance; `native.private_data` points
/// nowhere.
struct told_peer {
  rdma_conn_param native;
  std::string private_data;
};

namespace called {

struct rdma_create_event_channel {};
struct rdma_destroy_event_channel {
  rdma_event_channel* channel;
};
struct rdma_create_id {
  rdma_event_channel* channel;
  void* context;
  rdma_port_space space;
};
struct rdma_destroy_id {
  rdma_cm_id* id;
};
struct rdma_migrate_id {
  rdma_cm_id* id;
  rdma_event_channel* channel;
};
struct rdma_create_ep {
  rdma_addrinfo address;
  ibv_pd* domain;
  std::optional<ibv_qp_init_attr> pair;
};
struct rdma_destroy_ep {
  rdma_cm_id* id;
};
struct rdma_get_request {
  rdma_cm_id* listener;
};

// Addresses are as they were given, empty where there was none.
struct rdma_bind_addr {
  rdma_cm_id* id;
  sockaddr_storage address;
};
struct rdma_resolve_addr {
  rdma_cm_id* id;
  sockaddr_storage from;
  sockaddr_storage to;
  int milliseconds;
};
struct rdma_resolve_route {
  rdma_cm_id* id;
  int milliseconds;
};
struct rdma_get_src_port {
  rdma_cm_id* id;
};
struct rdma_get_dst_port {
  rdma_cm_id* id;
};

struct rdma_create_qp {
  rdma_cm_id* id;
  ibv_pd* domain;
  ibv_qp_init_attr attributes;
};
struct rdma_create_qp_ex {
  rdma_cm_id* id;
  ibv_qp_init_attr_ex attributes;
};
struct rdma_destroy_qp {
  rdma_cm_id* id;
};
struct rdma_create_srq {
  rdma_cm_id* id;
  ibv_pd* domain;
  ibv_srq_init_attr attributes;
};
struct rdma_create_srq_ex {
  rdma_cm_id* id;
  ibv_srq_init_attr_ex attributes;
};
struct rdma_destroy_srq {
  rdma_cm_id* id;
};
struct rdma_init_qp_attr {
  rdma_cm_id* id;
  ibv_qp_state state;
};

struct rdma_connect {
  rdma_cm_id* id;
  told_peer peer;
};
struct rdma_establish {
  rdma_cm_id* id;
};
struct rdma_listen {
  rdma_cm_id* id;
  int backlog;
};
struct rdma_accept {
  rdma_cm_id* id;
  /// Nothing where null was given.
  std::optional<told_peer> peer;
};
struct rdma_reject {
  rdma_cm_id* id;
  std::string private_data;
};
struct rdma_reject_ece {
  rdma_cm_id* id;
  std::string private_data;
};
struct rdma_notify {
  rdma_cm_id* id;
  ibv_event_type event;
};
struct rdma_disconnect {
  rdma_cm_id* id;
};

struct rdma_join_multicast {
  rdma_cm_id* id;
  sockaddr_storage group;
  void* context;
};
struct rdma_join_multicast_ex {
  rdma_cm_id* id;
  std::uint32_t mask;
  std::uint32_t flags;
  sockaddr_storage group;
  void* context;
};
struct rdma_leave_multicast {
  rdma_cm_id* id;
  sockaddr_storage group;
};

struct rdma_get_cm_event {
  rdma_event_channel* channel;
};
struct rdma_ack_cm_event {
  /// Whom the event was about, and of what type it was.
  rdma_cm_id* id;
  rdma_cm_event_type type;
};
struct rdma_event_str {
  rdma_cm_event_type type;
};

struct rdma_get_devices {};
struct rdma_free_devices {
  ibv_context** list;
};
struct rdma_set_option {
  rdma_cm_id* id;
  int level;
  int name;
  std::string value;
};
struct rdma_getaddrinfo {
  std::optional<std::string> node;
  std::optional<std::string> service;
  std::optional<rdma_addrinfo> hints;
};
struct rdma_freeaddrinfo {
  rdma_addrinfo* list;
};
struct rdma_set_local_ece {
  rdma_cm_id* id;
  ibv_ece options;
};
struct rdma_get_remote_ece {
  rdma_cm_id* id;
};

}  // namespace called
}  // namespace fake
