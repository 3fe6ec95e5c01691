// SPDX-License-Identifier: MIT
// What the fake records: one type for each function of the C API, with the arguments it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <infiniband/verbs.h>

namespace fake {

/// A request as it was posted, with a copy of its list; `wr.sg_list` and `wr.next` point nowhere.
template <class Native>
struct posted {
  Native wr;
  std::vector<ibv_sge> elements;
  /// The bytes of the elements, when they were sent inline and so may be gone by now.
  std::string inline_bytes;
};

namespace called {

struct get_device_list {};
struct free_device_list {};
struct open_device {
  std::string device;
};
struct close_device {
  ibv_context* context;
};

struct query_device {
  bool extended;  // Through the operations of the context, not the old function.
};
struct query_port {
  std::uint8_t port;
  bool extended;  // Likewise.
};
struct query_gid {
  std::uint8_t port;
  int index;
};
struct query_gid_ex {
  std::uint32_t port;
  std::uint32_t index;
};
struct query_gid_table {
  std::size_t max_entries;
};
struct query_pkey {
  std::uint8_t port;
  int index;
};

struct alloc_pd {
  ibv_context* context;
};
struct dealloc_pd {
  ibv_pd* domain;
};
/// ibv_reg_mr, ibv_reg_mr_iova or ibv_reg_mr_iova2: the macros of verbs.h choose, depending on the
/// optimisation level.
struct reg_mr {
  ibv_pd* domain;
  void* memory;
  std::size_t length;
  std::uint64_t device_address;
  unsigned access;
};
struct dereg_mr {
  ibv_mr* region;
};

struct create_comp_channel {
  ibv_context* context;
};
struct destroy_comp_channel {
  ibv_comp_channel* channel;
};
struct get_cq_event {
  ibv_comp_channel* channel;
};
struct ack_cq_events {
  ibv_cq* queue;
  unsigned count;
};
struct create_cq {
  ibv_context* context;
  int entries;
  void* user_context;
  ibv_comp_channel* channel;
  int vector;
};
struct destroy_cq {
  ibv_cq* queue;
};
struct poll_cq {
  ibv_cq* queue;
  int entries;
};
struct req_notify_cq {
  ibv_cq* queue;
  bool solicited_only;
};

struct create_ah {
  ibv_pd* domain;
  ibv_ah_attr attributes;
};
struct destroy_ah {
  ibv_ah* handle;
};
struct create_qp {
  ibv_pd* domain;
  ibv_qp_init_attr attributes;
};
struct modify_qp {
  ibv_qp* pair;
  ibv_qp_attr attributes;
  int mask;
};
struct query_qp {
  ibv_qp* pair;
  int mask;
};
struct destroy_qp {
  ibv_qp* pair;
};
struct post_send {
  ibv_qp* pair;
  std::vector<posted<ibv_send_wr>> requests;
};
struct post_recv {
  ibv_qp* pair;
  std::vector<posted<ibv_recv_wr>> requests;
};

}  // namespace called

using call =
    std::variant<called::get_device_list, called::free_device_list, called::open_device,
                 called::close_device, called::query_device, called::query_port, called::query_gid,
                 called::query_gid_ex, called::query_gid_table, called::query_pkey,
                 called::alloc_pd, called::dealloc_pd, called::reg_mr, called::dereg_mr,
                 called::create_comp_channel, called::destroy_comp_channel, called::get_cq_event,
                 called::ack_cq_events, called::create_cq, called::destroy_cq, called::poll_cq,
                 called::req_notify_cq, called::create_ah, called::destroy_ah, called::create_qp,
                 called::modify_qp, called::query_qp, called::destroy_qp, called::post_send,
                 called::post_recv>;

}  // namespace fake
