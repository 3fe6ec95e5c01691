// SPDX-License-Identifier: MIT
// The kinds of verbs objects, with their names for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <adverb/core/text.hpp>
#include <adverb/fwd.hpp>

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_cq_ex;
struct ibv_dmah;
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
  provider_buffer,
  dma_handle,
  completion_channel,
  completion_queue,
  completion_reservation,
  completion_counter,
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

/// Returns the name of a kind, as it stands in failures.
[[nodiscard]] constexpr std::string_view name_of(object_kind kind) noexcept {
  constexpr std::string_view names =
      "context|protection domain|thread domain|memory region|memory window|device memory|"
      "provider buffer|DMA handle|completion channel|completion queue|completion reservation|"
      "completion counter|address handle|XRC domain|"
      "shared receive queue|work queue|indirection table|counter set|flow action|flow|queue pair|"
      "multicast attachment|event channel|connection or other rdma_cm identifier|"
      "multicast membership";
  const std::string_view name = detail::listed_name(names, static_cast<std::size_t>(kind));
  return name.empty() ? "object" : name;
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
struct kind_of_native<ibv_buf> : kind_constant<object_kind::provider_buffer> {};
template <>
struct kind_of_native<ibv_dmah> : kind_constant<object_kind::dma_handle> {};
template <>
struct kind_of_native<ibv_comp_cntr> : kind_constant<object_kind::completion_counter> {};
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
