// SPDX-License-Identifier: MIT
// The features that devices, providers and kernels may lack, by the verb that needs them.
#pragma once

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A verb that a provider or kernel may lack, and the name of its feature.
struct optional_verb {
  std::string_view verb;
  std::string_view feature;
};

inline constexpr std::array optional_verbs{
    optional_verb{"ibv_advise_mr", "advice about memory (on-demand paging)"},
    optional_verb{"ibv_alloc_dm", "device memory"},
    optional_verb{"ibv_alloc_mw", "memory windows"},
    optional_verb{"ibv_alloc_null_mr", "null memory regions"},
    optional_verb{"ibv_alloc_parent_domain", "parent domains"},
    optional_verb{"ibv_alloc_td", "thread domains"},
    optional_verb{"ibv_attach_mcast", "multicast"},
    optional_verb{"ibv_bind_mw", "memory windows of type 1"},
    optional_verb{"ibv_create_counters", "counters"},
    optional_verb{"ibv_create_cq_ex", "extended completion queues, or none of this kind"},
    optional_verb{"ibv_create_flow", "flow steering"},
    optional_verb{"ibv_create_flow_action_esp", "ESP flow actions"},
    optional_verb{"ibv_create_qp_ex", "extended queue pairs, or none with these options"},
    optional_verb{"ibv_create_rwq_ind_table", "receive-side scaling (indirection tables)"},
    optional_verb{"ibv_create_srq", "shared receive queues"},
    optional_verb{"ibv_create_srq_ex", "shared receive queues of this type"},
    optional_verb{"ibv_create_wq", "work queues"},
    optional_verb{"ibv_get_srq_num", "numbers of shared receive queues (XRC)"},
    optional_verb{"ibv_import_device", "import of devices"},
    optional_verb{"ibv_import_dm", "import of device memory"},
    optional_verb{"ibv_import_mr", "import of memory regions"},
    optional_verb{"ibv_import_pd", "import of protection domains"},
    optional_verb{"ibv_modify_cq", "completion moderation"},
    optional_verb{"ibv_modify_flow_action_esp", "ESP flow actions that can be modified"},
    optional_verb{"ibv_modify_qp_rate_limit", "rate limits of queue pairs"},
    optional_verb{"ibv_modify_srq", "shared receive queues that can be modified"},
    optional_verb{"ibv_modify_wq", "work queues that can be changed like this"},
    optional_verb{"ibv_open_qp", "queue pairs that can be shared (XRC)"},
    optional_verb{"ibv_open_xrcd", "XRC domains"},
    optional_verb{"ibv_post_srq_ops", "tag matching"},
    optional_verb{"ibv_qp_to_qp_ex", "extended sending"},
    optional_verb{"ibv_query_ece", "enhanced connection establishment (ECE)"},
    optional_verb{"ibv_query_port_speed", "port speed that can be queried"},
    optional_verb{"ibv_query_rt_values_ex", "readable clock"},
    optional_verb{"ibv_read_counters", "counters"},
    optional_verb{"ibv_reg_dm_mr", "device memory"},
    optional_verb{"ibv_reg_dmabuf_mr", "registration of dma-buf memory"},
    optional_verb{"ibv_rereg_mr", "re-registration of memory, or none of this kind"},
    optional_verb{"ibv_resize_cq", "completion queues that can be resized"},
    optional_verb{"ibv_set_ece", "enhanced connection establishment (ECE)"},
};

/// Returns whether an error means that the device or the kernel lacks a feature. rdma-core, its
/// providers and the kernel use two errnos for that.
[[nodiscard]] constexpr bool is_unsupported(int error) noexcept {
  return error == EOPNOTSUPP || error == ENOSYS;
}
[[nodiscard]] inline bool is_unsupported(const std::error_code& code) noexcept {
  return code == std::errc::operation_not_supported || code == std::errc::function_not_supported;
}

/// Returns the feature of a verb; empty for a verb that every device has.
[[nodiscard]] constexpr std::string_view feature_of(std::string_view verb) noexcept {
  for (const optional_verb& each : optional_verbs)
    if (each.verb == verb) return each.feature;
  return {};
}

}  // namespace adverb::inline ADVERB_ABI::detail
