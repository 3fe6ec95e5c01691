// SPDX-License-Identifier: MIT
// The features that devices, providers and kernels may lack, by the verb that needs them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <adverb/core/text.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The verbs that a provider or kernel may lack, each followed by the name of its feature.
inline constexpr std::string_view optional_verbs =
    "ibv_advise_mr|advice about memory (on-demand paging)|"
    "ibv_alloc_dm|device memory|"
    "ibv_alloc_dmah|DMA handles|"
    "ibv_alloc_mw|memory windows|"
    "ibv_alloc_null_mr|null memory regions|"
    "ibv_alloc_parent_domain|parent domains|"
    "ibv_alloc_td|thread domains|"
    "ibv_attach_mcast|multicast|"
    "ibv_bind_mw|memory windows of type 1|"
    "ibv_create_comp_cntr|completion counters, or none of this kind|"
    "ibv_create_counters|counters|"
    "ibv_create_cq_ex|extended completion queues, or none of this kind|"
    "ibv_create_flow|flow steering|"
    "ibv_create_flow_action_esp|ESP flow actions|"
    "ibv_create_qp_ex|extended queue pairs, or none with these options|"
    "ibv_create_rwq_ind_table|receive-side scaling (indirection tables)|"
    "ibv_create_srq|shared receive queues|"
    "ibv_create_srq_ex|shared receive queues of this type|"
    "ibv_create_wq|work queues|"
    "ibv_dm_export_dmabuf_fd|device memory that can be exported|"
    "ibv_get_srq_num|numbers of shared receive queues (XRC)|"
    "ibv_import_device|import of devices|"
    "ibv_import_dm|import of device memory|"
    "ibv_import_mr|import of memory regions|"
    "ibv_import_pd|import of protection domains|"
    "ibv_modify_cq|completion moderation|"
    "ibv_modify_flow_action_esp|ESP flow actions that can be modified|"
    "ibv_modify_qp_rate_limit|rate limits of queue pairs|"
    "ibv_modify_srq|shared receive queues that can be modified|"
    "ibv_modify_wq|work queues that can be changed like this|"
    "ibv_open_qp|queue pairs that can be shared (XRC)|"
    "ibv_open_xrcd|XRC domains|"
    "ibv_post_srq_ops|tag matching|"
    "ibv_qp_attach_comp_cntr|completion counters of these operations|"
    "ibv_qp_to_qp_ex|extended sending|"
    "ibv_query_comp_cntr_caps|completion counters|"
    "ibv_query_ece|enhanced connection establishment (ECE)|"
    "ibv_query_port_speed|port speed that can be queried|"
    "ibv_query_rt_values_ex|readable clock|"
    "ibv_read_counters|counters|"
    "ibv_reg_dm_mr|device memory|"
    "ibv_reg_dmabuf_mr|registration of dma-buf memory|"
    "ibv_reg_mr_ex|registration with DMA handles|"
    "ibv_rereg_mr|re-registration of memory, or none of this kind|"
    "ibv_resize_cq|completion queues that can be resized|"
    "ibv_set_ece|enhanced connection establishment (ECE)";

/// Returns whether an error means that the device or the kernel lacks a feature. rdma-core, its
/// providers and the kernel use two errnos for that.
[[nodiscard]] constexpr bool is_unsupported(int error) noexcept {
  return error == EOPNOTSUPP || error == ENOSYS;
}

/// Takes the first name off a list.
[[nodiscard]] constexpr std::string_view take_listed_name(std::string_view& rest) noexcept {
  const std::string_view name = rest.substr(0, rest.find('|'));
  rest.remove_prefix(name.size() < rest.size() ? name.size() + 1 : rest.size());
  return name;
}

/// Returns the feature of a verb; empty for a verb that every device has.
[[nodiscard, gnu::cold]] constexpr std::string_view feature_of(std::string_view verb) noexcept {
  // One pass, because Clang limits the steps of a constant expression.
  std::string_view rest = optional_verbs;
  while (!rest.empty()) {
    const std::string_view each = take_listed_name(rest);
    const std::string_view feature = take_listed_name(rest);
    if (each == verb) return feature;
  }
  return {};
}

}  // namespace adverb::inline ADVERB_ABI::detail
