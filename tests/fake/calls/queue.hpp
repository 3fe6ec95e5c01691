// SPDX-License-Identifier: MIT
// Address handles and queue pairs.
#pragma once

#include <cstdint>
#include <string>
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

/// A request as it was built by the extended calls; what its operation does not have is zero.
struct extended_request {
  std::uint64_t id;
  unsigned flags;
  ibv_wr_opcode opcode;
  std::uint64_t remote_address;
  std::uint32_t remote_key;
  /// As it was given: in network order.
  std::uint32_t immediate;
  std::uint64_t compare_or_add;
  std::uint64_t swap;
  std::uint32_t invalidated_key;
  ibv_mw* window;
  ibv_mw_bind_info binding;
  std::string header;
  std::uint16_t segment_size;
  /// The eight bytes of an atomic write.
  std::uint64_t written;
  ibv_ah* address;
  std::uint32_t remote_queue_pair;
  std::uint32_t remote_queue_key;
  std::uint32_t shared_receive_queue;
  /// Which call gave the data: "sge", "sge_list", "inline", "inline_list", or nothing.
  std::string data_call;
  std::vector<ibv_sge> elements;
  std::string inline_bytes;
};

namespace called {

struct create_ah {
  ibv_pd* domain;
  ibv_ah_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct init_ah_from_wc {
  ibv_context* context;
  std::uint8_t port;
  ibv_wc completion;
  ibv_grh header;
  [[nodiscard]] std::string line() const;
};
struct create_ah_from_wc {
  ibv_pd* domain;
  ibv_wc completion;
  ibv_grh header;
  std::uint8_t port;
  [[nodiscard]] std::string line() const;
};
struct destroy_ah {
  ibv_ah* handle;
  [[nodiscard]] std::string line() const;
};
struct create_qp {
  ibv_pd* domain;
  ibv_qp_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct create_qp_ex {
  ibv_context* context;
  ibv_qp_init_attr_ex attributes;
  [[nodiscard]] std::string line() const;
};
struct modify_qp {
  ibv_qp* pair;
  ibv_qp_attr attributes;
  int mask;
  [[nodiscard]] std::string line() const;
};
struct query_qp {
  ibv_qp* pair;
  int mask;
  [[nodiscard]] std::string line() const;
};
struct destroy_qp {
  ibv_qp* pair;
  [[nodiscard]] std::string line() const;
};
struct attach_mcast {
  ibv_qp* pair;
  ibv_gid group;
  std::uint16_t lid;
  [[nodiscard]] std::string line() const;
};
struct detach_mcast {
  ibv_qp* pair;
  ibv_gid group;
  std::uint16_t lid;
  [[nodiscard]] std::string line() const;
};
struct post_send {
  ibv_qp* pair;
  std::vector<posted<ibv_send_wr>> requests;
  [[nodiscard]] std::string line() const;
};
struct post_recv {
  ibv_qp* pair;
  std::vector<posted<ibv_recv_wr>> requests;
  [[nodiscard]] std::string line() const;
};
struct wr_start {
  ibv_qp* pair;
  [[nodiscard]] std::string line() const;
};
struct wr_complete {
  ibv_qp* pair;
  std::vector<extended_request> requests;
  [[nodiscard]] std::string line() const;
};
struct wr_abort {
  ibv_qp* pair;
  std::vector<extended_request> requests;
  [[nodiscard]] std::string line() const;
};
struct modify_qp_rate_limit {
  ibv_qp* pair;
  ibv_qp_rate_limit_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct query_ece {
  ibv_qp* pair;
  [[nodiscard]] std::string line() const;
};
struct set_ece {
  ibv_qp* pair;
  ibv_ece options;
  [[nodiscard]] std::string line() const;
};
struct query_qp_data_in_order {
  ibv_qp* pair;
  ibv_wr_opcode operation;
  std::uint32_t flags;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
