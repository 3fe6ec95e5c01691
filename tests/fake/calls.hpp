// SPDX-License-Identifier: MIT
// The calls that the fake records: a type for each function of the C API. A type has the arguments
// that tests read; the line of a call has all of them.
#pragma once

#include <any>
#include <cstdint>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
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
  /// The value as it was given, in network order.
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
  /// The call that gave the data: "sge", "sge_list", "inline", "inline_list", or nothing.
  std::string data_call;
  std::vector<ibv_sge> elements;
  std::string inline_bytes;
};

namespace called {

// Devices.
struct get_device_list {};
struct free_device_list {};
struct open_device {};
struct close_device {};
struct import_device {
  int command_file_descriptor;
};
struct get_device_index {};
struct get_device_guid {};
struct fork_init {};
struct is_fork_initialized {};
struct get_async_event {};
struct ack_async_event {};
struct query_device {};
struct query_port {};
struct query_gid {};
struct query_gid_ex {};
struct query_gid_table {};
struct query_pkey {};
struct get_pkey_index {};
struct query_rt_values {};
struct resolve_eth_l2_from_gid {};

// Protection domains and regions.
struct alloc_pd {};
struct dealloc_pd {};
struct reg_mr {};
struct dereg_mr {};

// Thread domains, parent domains, device memory and imports.
struct alloc_td {};
struct dealloc_td {};
struct alloc_parent_domain {
  ibv_parent_domain_init_attr attributes;
};
struct alloc_dm {};
struct free_dm {};
struct memcpy_to_dm {};
struct memcpy_from_dm {};
struct import_pd {};
struct unimport_pd {};
struct import_mr {};
struct unimport_mr {};
struct import_dm {};
struct unimport_dm {};

// Other registrations.
struct reg_dmabuf_mr {};
struct reg_dm_mr {};
struct alloc_null_mr {};
struct rereg_mr {};
struct advise_mr {};

// Windows.
struct alloc_mw {};
struct dealloc_mw {};
struct bind_mw {};

// Completion channels and queues.
struct create_comp_channel {};
struct destroy_comp_channel {};
struct get_cq_event {};
struct ack_cq_events {};
struct create_cq {};
struct destroy_cq {};
struct poll_cq {};
struct req_notify_cq {};
struct resize_cq {};
struct modify_cq {};

// Extended completion queues.
struct create_cq_ex {};
struct start_poll {};
struct next_poll {};
struct end_poll {};
struct read_completion {
  ibv_cq_ex* queue;
  std::string_view field;
};

// Address handles and queue pairs.
struct create_ah {};
struct init_ah_from_wc {
  ibv_grh header;
};
struct create_ah_from_wc {};
struct destroy_ah {};
struct create_qp {};
struct create_qp_ex {};
struct modify_qp {
  ibv_qp_attr attributes;
};
struct query_qp {};
struct destroy_qp {};
struct attach_mcast {};
struct detach_mcast {};
struct post_send {
  ibv_qp* pair;
  std::vector<posted<ibv_send_wr>> requests;
};
struct post_recv {
  ibv_qp* pair;
  std::vector<posted<ibv_recv_wr>> requests;
};
struct wr_start {};
struct wr_complete {
  std::vector<extended_request> requests;
};
struct wr_abort {};
struct modify_qp_rate_limit {};
struct query_ece {};
struct set_ece {};
struct query_qp_data_in_order {};

// Shared receive queues and XRC.
struct create_srq {};
struct create_srq_ex {};
struct modify_srq {};
struct query_srq {};
struct get_srq_num {};
struct destroy_srq {};
struct post_srq_recv {
  ibv_srq* queue;
  std::vector<posted<ibv_recv_wr>> requests;
};
struct post_srq_ops {};
struct open_xrcd {};
struct close_xrcd {};
struct open_qp {};

// Work queues.
struct create_wq {};
struct modify_wq {};
struct destroy_wq {};
struct post_wq_recv {};
struct create_rwq_ind_table {};
struct destroy_rwq_ind_table {};

// Flows, flow actions and counters.
struct create_flow {};
struct destroy_flow {};
struct create_flow_action_esp {};
struct modify_flow_action_esp {};
struct destroy_flow_action {};
struct create_counters {};
struct attach_counters_point_flow {};
struct read_counters {};
struct destroy_counters {};

}  // namespace called

/// A call of any function: one of the types in `called`.
class call {
 public:
  template <class Call>
  call(Call what, std::string line) : line_{std::move(line)}, what_{std::move(what)} {}

  /// The type of the called function.
  [[nodiscard]] std::type_index kind() const { return what_.type(); }
  /// The call, when it was one of this function, or null.
  template <class Call>
  [[nodiscard]] const Call* as() const {
    return std::any_cast<Call>(&what_);
  }
  /// The call as text, in the form that render.hpp describes.
  [[nodiscard]] const std::string& line() const { return line_; }

 private:
  std::string line_;
  std::any what_;
};

}  // namespace fake
