// SPDX-License-Identifier: MIT
// The kinds of verbs objects, with their names for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <adverb/fwd.hpp>

struct ibv_cq_ex;
struct ibv_qp_ex;

namespace adverb::inline ADVERB_ABI {

/// The kind of an object, for messages about its lifetime.
enum class object_kind : std::uint8_t {
  context,
  protection_domain,
  thread_domain,
  memory_region,
  memory_window,
  device_memory,
  completion_channel,
  completion_queue,
  completion_reservation,
  address_handle,
  xrc_domain,
  shared_receive_queue,
  work_queue,
  indirection_table,
  counters,
  flow_action,
  flow,
  queue_pair,
  multicast_attachment,
  event_channel,
  identifier,
  multicast_membership,
};

namespace detail {
inline constexpr std::size_t object_kinds =
    static_cast<std::size_t>(object_kind::multicast_membership) + 1;
}  // namespace detail

[[nodiscard]] constexpr std::string_view name_of(object_kind kind) noexcept {
  switch (kind) {
    case object_kind::context: return "context";
    case object_kind::protection_domain: return "protection domain";
    case object_kind::thread_domain: return "thread domain";
    case object_kind::memory_region: return "memory region";
    case object_kind::memory_window: return "memory window";
    case object_kind::device_memory: return "device memory";
    case object_kind::completion_channel: return "completion channel";
    case object_kind::completion_queue: return "completion queue";
    case object_kind::completion_reservation: return "completion reservation";
    case object_kind::address_handle: return "address handle";
    case object_kind::xrc_domain: return "XRC domain";
    case object_kind::shared_receive_queue: return "shared receive queue";
    case object_kind::work_queue: return "work queue";
    case object_kind::indirection_table: return "indirection table";
    case object_kind::counters: return "counter set";
    case object_kind::flow_action: return "flow action";
    case object_kind::flow: return "flow";
    case object_kind::queue_pair: return "queue pair";
    case object_kind::multicast_attachment: return "multicast attachment";
    case object_kind::event_channel: return "event channel";
    case object_kind::identifier: return "connection or other rdma_cm identifier";
    case object_kind::multicast_membership: return "multicast membership";
  }
  return "object";
}

namespace detail {

template <class Native>
struct kind_of_native;
template <object_kind Kind>
struct kind_constant {
  static constexpr object_kind value = Kind;
};
template <>
struct kind_of_native<ibv_context> : kind_constant<object_kind::context> {};
template <>
struct kind_of_native<ibv_pd> : kind_constant<object_kind::protection_domain> {};
template <>
struct kind_of_native<ibv_td> : kind_constant<object_kind::thread_domain> {};
template <>
struct kind_of_native<ibv_mr> : kind_constant<object_kind::memory_region> {};
template <>
struct kind_of_native<ibv_mw> : kind_constant<object_kind::memory_window> {};
template <>
struct kind_of_native<ibv_dm> : kind_constant<object_kind::device_memory> {};
template <>
struct kind_of_native<ibv_comp_channel> : kind_constant<object_kind::completion_channel> {};
template <>
struct kind_of_native<ibv_cq> : kind_constant<object_kind::completion_queue> {};
template <>
struct kind_of_native<ibv_ah> : kind_constant<object_kind::address_handle> {};
template <>
struct kind_of_native<ibv_xrcd> : kind_constant<object_kind::xrc_domain> {};
template <>
struct kind_of_native<ibv_srq> : kind_constant<object_kind::shared_receive_queue> {};
template <>
struct kind_of_native<ibv_wq> : kind_constant<object_kind::work_queue> {};
template <>
struct kind_of_native<ibv_rwq_ind_table> : kind_constant<object_kind::indirection_table> {};
template <>
struct kind_of_native<ibv_counters> : kind_constant<object_kind::counters> {};
template <>
struct kind_of_native<ibv_flow_action> : kind_constant<object_kind::flow_action> {};
template <>
struct kind_of_native<ibv_flow> : kind_constant<object_kind::flow> {};
template <>
struct kind_of_native<ibv_qp> : kind_constant<object_kind::queue_pair> {};
template <>
struct kind_of_native<ibv_cq_ex> : kind_constant<object_kind::completion_queue> {};
template <>
struct kind_of_native<ibv_qp_ex> : kind_constant<object_kind::queue_pair> {};
template <>
struct kind_of_native<rdma_event_channel> : kind_constant<object_kind::event_channel> {};
template <>
struct kind_of_native<rdma_cm_id> : kind_constant<object_kind::identifier> {};

/// The kind of the objects of a C API type.
template <class Native>
inline constexpr object_kind kind_of = kind_of_native<Native>::value;

}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
