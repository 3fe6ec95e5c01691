// SPDX-License-Identifier: MIT
// What the fake of librdmacm records: one type for each function of the C API, with the arguments
// it was given. lines.cpp has their lines.
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

struct rdma_create_event_channel {
  [[nodiscard]] std::string line() const;
};
struct rdma_destroy_event_channel {
  rdma_event_channel* channel;
  [[nodiscard]] std::string line() const;
};
struct rdma_create_id {
  rdma_event_channel* channel;
  void* context;
  rdma_port_space space;
  [[nodiscard]] std::string line() const;
};
struct rdma_destroy_id {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_migrate_id {
  rdma_cm_id* id;
  rdma_event_channel* channel;
  [[nodiscard]] std::string line() const;
};
struct rdma_create_ep {
  rdma_addrinfo address;
  ibv_pd* domain;
  std::optional<ibv_qp_init_attr> pair;
  [[nodiscard]] std::string line() const;
};
struct rdma_destroy_ep {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_get_request {
  rdma_cm_id* listener;
  [[nodiscard]] std::string line() const;
};

// Addresses are as they were given, empty where there was none.
struct rdma_bind_addr {
  rdma_cm_id* id;
  sockaddr_storage address;
  [[nodiscard]] std::string line() const;
};
struct rdma_resolve_addr {
  rdma_cm_id* id;
  sockaddr_storage from;
  sockaddr_storage to;
  int milliseconds;
  [[nodiscard]] std::string line() const;
};
struct rdma_resolve_route {
  rdma_cm_id* id;
  int milliseconds;
  [[nodiscard]] std::string line() const;
};
struct rdma_get_src_port {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_get_dst_port {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};

struct rdma_create_qp {
  rdma_cm_id* id;
  ibv_pd* domain;
  ibv_qp_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct rdma_create_qp_ex {
  rdma_cm_id* id;
  ibv_qp_init_attr_ex attributes;
  [[nodiscard]] std::string line() const;
};
struct rdma_destroy_qp {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_create_srq {
  rdma_cm_id* id;
  ibv_pd* domain;
  ibv_srq_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct rdma_create_srq_ex {
  rdma_cm_id* id;
  ibv_srq_init_attr_ex attributes;
  [[nodiscard]] std::string line() const;
};
struct rdma_destroy_srq {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_init_qp_attr {
  rdma_cm_id* id;
  ibv_qp_state state;
  [[nodiscard]] std::string line() const;
};

struct rdma_connect {
  rdma_cm_id* id;
  told_peer peer;
  [[nodiscard]] std::string line() const;
};
struct rdma_establish {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_listen {
  rdma_cm_id* id;
  int backlog;
  [[nodiscard]] std::string line() const;
};
struct rdma_accept {
  rdma_cm_id* id;
  /// Nothing where null was given.
  std::optional<told_peer> peer;
  [[nodiscard]] std::string line() const;
};
struct rdma_reject {
  rdma_cm_id* id;
  std::string private_data;
  [[nodiscard]] std::string line() const;
};
struct rdma_reject_ece {
  rdma_cm_id* id;
  std::string private_data;
  [[nodiscard]] std::string line() const;
};
struct rdma_notify {
  rdma_cm_id* id;
  ibv_event_type event;
  [[nodiscard]] std::string line() const;
};
struct rdma_disconnect {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};

struct rdma_join_multicast {
  rdma_cm_id* id;
  sockaddr_storage group;
  void* context;
  [[nodiscard]] std::string line() const;
};
struct rdma_join_multicast_ex {
  rdma_cm_id* id;
  std::uint32_t mask;
  std::uint32_t flags;
  sockaddr_storage group;
  void* context;
  [[nodiscard]] std::string line() const;
};
struct rdma_leave_multicast {
  rdma_cm_id* id;
  sockaddr_storage group;
  [[nodiscard]] std::string line() const;
};

struct rdma_get_cm_event {
  rdma_event_channel* channel;
  [[nodiscard]] std::string line() const;
};
struct rdma_ack_cm_event {
  /// Whom the event was about, and of what type it was.
  rdma_cm_id* id;
  rdma_cm_event_type type;
  [[nodiscard]] std::string line() const;
};
struct rdma_event_str {
  rdma_cm_event_type type;
  [[nodiscard]] std::string line() const;
};

struct rdma_get_devices {
  [[nodiscard]] std::string line() const;
};
struct rdma_free_devices {
  ibv_context** list;
  [[nodiscard]] std::string line() const;
};
struct rdma_set_option {
  rdma_cm_id* id;
  int level;
  int name;
  std::string value;
  [[nodiscard]] std::string line() const;
};
struct rdma_getaddrinfo {
  std::optional<std::string> node;
  std::optional<std::string> service;
  std::optional<rdma_addrinfo> hints;
  [[nodiscard]] std::string line() const;
};
struct rdma_freeaddrinfo {
  rdma_addrinfo* list;
  [[nodiscard]] std::string line() const;
};
// Of later headers.
struct rdma_resolve_addrinfo {
  rdma_cm_id* id;
  std::optional<std::string> node;
  std::optional<std::string> service;
  std::optional<rdma_addrinfo> hints;
  [[nodiscard]] std::string line() const;
};
struct rdma_query_addrinfo {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};
struct rdma_write_cm_event {
  rdma_cm_id* id;
  rdma_cm_event_type type;
  int status;
  std::uint64_t argument;
  [[nodiscard]] std::string line() const;
};
struct rdma_set_local_ece {
  rdma_cm_id* id;
  ibv_ece options;
  [[nodiscard]] std::string line() const;
};
struct rdma_get_remote_ece {
  rdma_cm_id* id;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
