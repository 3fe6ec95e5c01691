// SPDX-License-Identifier: MIT
// The capabilities of a device.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI {

/// A capability of a device.
enum class device_capability : std::uint64_t {
  resize_max_work_requests = IBV_DEVICE_RESIZE_MAX_WR,
  bad_pkey_counter = IBV_DEVICE_BAD_PKEY_CNTR,
  bad_queue_key_counter = IBV_DEVICE_BAD_QKEY_CNTR,
  raw_multicast = IBV_DEVICE_RAW_MULTI,
  automatic_path_migration = IBV_DEVICE_AUTO_PATH_MIG,
  change_physical_port = IBV_DEVICE_CHANGE_PHY_PORT,
  ud_address_port_enforced = IBV_DEVICE_UD_AV_PORT_ENFORCE,
  current_state_in_modify = IBV_DEVICE_CURR_QP_STATE_MOD,
  shutdown_port = IBV_DEVICE_SHUTDOWN_PORT,
  initialization_type = IBV_DEVICE_INIT_TYPE,
  port_active_event = IBV_DEVICE_PORT_ACTIVE_EVENT,
  system_image_guid = IBV_DEVICE_SYS_IMAGE_GUID,
  rc_rnr_nak = IBV_DEVICE_RC_RNR_NAK_GEN,
  resize_shared_receive_queue = IBV_DEVICE_SRQ_RESIZE,
  notify_n_completions = IBV_DEVICE_N_NOTIFY_CQ,
  memory_windows = IBV_DEVICE_MEM_WINDOW,
  ud_ip_checksum = IBV_DEVICE_UD_IP_CSUM,
  extended_reliable_connections = IBV_DEVICE_XRC,
  memory_management_extensions = IBV_DEVICE_MEM_MGT_EXTENSIONS,
  memory_windows_type_2a = IBV_DEVICE_MEM_WINDOW_TYPE_2A,
  memory_windows_type_2b = IBV_DEVICE_MEM_WINDOW_TYPE_2B,
  rc_ip_checksum = IBV_DEVICE_RC_IP_CSUM,
  raw_ip_checksum = IBV_DEVICE_RAW_IP_CSUM,
  flow_steering = IBV_DEVICE_MANAGED_FLOW_STEERING,
  raw_scatter_frame_checksum = IBV_DEVICE_RAW_SCATTER_FCS,
  pci_write_end_padding = IBV_DEVICE_PCI_WRITE_END_PADDING,
  flush_global = std::uint64_t{1} << 38,      // IBV_DEVICE_FLUSH_GLOBAL, of later rdma-core
  flush_persistent = std::uint64_t{1} << 39,  // IBV_DEVICE_FLUSH_PERSISTENT, likewise
  atomic_write = std::uint64_t{1} << 40,      // IBV_DEVICE_ATOMIC_WRITE, likewise
};
template <>
inline constexpr bool is_flag<device_capability> = true;
using device_capabilities = flags<device_capability>;

[[nodiscard]] constexpr std::string_view flag_name(device_capability capability) noexcept {
  switch (capability) {
    case device_capability::resize_max_work_requests: return "resize_max_work_requests";
    case device_capability::bad_pkey_counter: return "bad_pkey_counter";
    case device_capability::bad_queue_key_counter: return "bad_queue_key_counter";
    case device_capability::raw_multicast: return "raw_multicast";
    case device_capability::automatic_path_migration: return "automatic_path_migration";
    case device_capability::change_physical_port: return "change_physical_port";
    case device_capability::ud_address_port_enforced: return "ud_address_port_enforced";
    case device_capability::current_state_in_modify: return "current_state_in_modify";
    case device_capability::shutdown_port: return "shutdown_port";
    case device_capability::initialization_type: return "initialization_type";
    case device_capability::port_active_event: return "port_active_event";
    case device_capability::system_image_guid: return "system_image_guid";
    case device_capability::rc_rnr_nak: return "rc_rnr_nak";
    case device_capability::resize_shared_receive_queue: return "resize_shared_receive_queue";
    case device_capability::notify_n_completions: return "notify_n_completions";
    case device_capability::memory_windows: return "memory_windows";
    case device_capability::ud_ip_checksum: return "ud_ip_checksum";
    case device_capability::extended_reliable_connections: return "extended_reliable_connections";
    case device_capability::memory_management_extensions: return "memory_management_extensions";
    case device_capability::memory_windows_type_2a: return "memory_windows_type_2a";
    case device_capability::memory_windows_type_2b: return "memory_windows_type_2b";
    case device_capability::rc_ip_checksum: return "rc_ip_checksum";
    case device_capability::raw_ip_checksum: return "raw_ip_checksum";
    case device_capability::flow_steering: return "flow_steering";
    case device_capability::raw_scatter_frame_checksum: return "raw_scatter_frame_checksum";
    case device_capability::pci_write_end_padding: return "pci_write_end_padding";
    case device_capability::flush_global: return "flush_global";
    case device_capability::flush_persistent: return "flush_persistent";
    case device_capability::atomic_write: return "atomic_write";
  }
  return {};
}

}  // namespace adverb::inline ADVERB_ABI
