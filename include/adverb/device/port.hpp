// SPDX-License-Identifier: MIT
// The state and attributes of a port.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/port_link.hpp>

namespace adverb::inline ADVERB_ABI {

/// A capability of a port: the first mask of the C API, and the second in the upper half.
enum class port_capability : std::uint64_t {
  subnet_manager = IBV_PORT_SM,
  notice = IBV_PORT_NOTICE_SUP,
  trap = IBV_PORT_TRAP_SUP,
  optional_packet_delay = IBV_PORT_OPT_IPD_SUP,
  automatic_migration = IBV_PORT_AUTO_MIGR_SUP,
  service_level_mapping = IBV_PORT_SL_MAP_SUP,
  management_key_in_nvram = IBV_PORT_MKEY_NVRAM,
  pkey_in_nvram = IBV_PORT_PKEY_NVRAM,
  led_info = IBV_PORT_LED_INFO_SUP,
  system_image_guid = IBV_PORT_SYS_IMAGE_GUID_SUP,
  pkey_switch_external_port_trap = IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP,
  extended_speeds = IBV_PORT_EXTENDED_SPEEDS_SUP,
  second_capability_mask = IBV_PORT_CAP_MASK2_SUP,
  connection_management = IBV_PORT_CM_SUP,
  snmp_tunneling = IBV_PORT_SNMP_TUNNEL_SUP,
  reinitialization = IBV_PORT_REINIT_SUP,
  device_management = IBV_PORT_DEVICE_MGMT_SUP,
  vendor_class = IBV_PORT_VENDOR_CLASS_SUP,
  device_reset_notice = IBV_PORT_DR_NOTICE_SUP,
  capability_mask_notice = IBV_PORT_CAP_MASK_NOTICE_SUP,
  boot_management = IBV_PORT_BOOT_MGMT_SUP,
  link_latency = IBV_PORT_LINK_LATENCY_SUP,
  client_reregistration = IBV_PORT_CLIENT_REG_SUP,
  ip_based_gids = IBV_PORT_IP_BASED_GIDS,
  // Flags of the second mask:
  set_node_description = std::uint64_t{IBV_PORT_SET_NODE_DESC_SUP} << 32,
  extended_port_info = std::uint64_t{IBV_PORT_INFO_EXT_SUP} << 32,
  virtualization = std::uint64_t{IBV_PORT_VIRT_SUP} << 32,
  switch_port_state_table = std::uint64_t{IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP} << 32,
  link_width_2x = std::uint64_t{IBV_PORT_LINK_WIDTH_2X_SUP} << 32,
  link_speed_hdr = std::uint64_t{IBV_PORT_LINK_SPEED_HDR_SUP} << 32,
  link_speed_ndr = std::uint64_t{1}
                   << 42,  // IBV_PORT_LINK_SPEED_NDR_SUP, which not every version has
  link_speed_xdr = std::uint64_t{1} << 44,  // IBV_PORT_LINK_SPEED_XDR_SUP, of later rdma-core
};
template <>
inline constexpr bool is_flag<port_capability> = true;
/// A set of capabilities of a port.
using port_capabilities = flags<port_capability>;

[[nodiscard]] constexpr std::string_view flag_name(port_capability capability) noexcept {
  switch (capability) {
    case port_capability::subnet_manager: return "subnet_manager";
    case port_capability::notice: return "notice";
    case port_capability::trap: return "trap";
    case port_capability::optional_packet_delay: return "optional_packet_delay";
    case port_capability::automatic_migration: return "automatic_migration";
    case port_capability::service_level_mapping: return "service_level_mapping";
    case port_capability::management_key_in_nvram: return "management_key_in_nvram";
    case port_capability::pkey_in_nvram: return "pkey_in_nvram";
    case port_capability::led_info: return "led_info";
    case port_capability::system_image_guid: return "system_image_guid";
    case port_capability::pkey_switch_external_port_trap: return "pkey_switch_external_port_trap";
    case port_capability::extended_speeds: return "extended_speeds";
    case port_capability::second_capability_mask: return "second_capability_mask";
    case port_capability::connection_management: return "connection_management";
    case port_capability::snmp_tunneling: return "snmp_tunneling";
    case port_capability::reinitialization: return "reinitialization";
    case port_capability::device_management: return "device_management";
    case port_capability::vendor_class: return "vendor_class";
    case port_capability::device_reset_notice: return "device_reset_notice";
    case port_capability::capability_mask_notice: return "capability_mask_notice";
    case port_capability::boot_management: return "boot_management";
    case port_capability::link_latency: return "link_latency";
    case port_capability::client_reregistration: return "client_reregistration";
    case port_capability::ip_based_gids: return "ip_based_gids";
    case port_capability::set_node_description: return "set_node_description";
    case port_capability::extended_port_info: return "extended_port_info";
    case port_capability::virtualization: return "virtualization";
    case port_capability::switch_port_state_table: return "switch_port_state_table";
    case port_capability::link_width_2x: return "link_width_2x";
    case port_capability::link_speed_hdr: return "link_speed_hdr";
    case port_capability::link_speed_ndr: return "link_speed_ndr";
    case port_capability::link_speed_xdr: return "link_speed_xdr";
  }
  return {};
}

/// The logical state of a port; only `active` carries traffic.
enum class port_state : std::uint32_t {
  no_change = IBV_PORT_NOP,
  down = IBV_PORT_DOWN,
  initializing = IBV_PORT_INIT,
  armed = IBV_PORT_ARMED,
  active = IBV_PORT_ACTIVE,
  active_deferred = IBV_PORT_ACTIVE_DEFER,
};

[[nodiscard]] constexpr static_string<48> to_text(port_state state) noexcept {
  constexpr std::string_view names = "no change|down|initializing|armed|active|active (deferred)";
  const auto number = static_cast<std::uint32_t>(state);
  return detail::listed_name_or_number(names, number);
}

/// The attributes of a port, from `context.query_port(port)`.
class port_attributes {
 public:
  port_attributes() noexcept = default;
  /// Copies the C API struct.
  explicit port_attributes(const ibv_port_attr& native) noexcept : native_{native} {}

  /// Returns the logical state; only an active port carries traffic.
  [[nodiscard]] port_state state() const noexcept { return static_cast<port_state>(native_.state); }
  /// Returns the link layer: InfiniBand or Ethernet.
  [[nodiscard]] adverb::link_layer link_layer() const noexcept {
    return static_cast<adverb::link_layer>(native_.link_layer);
  }
  /// Returns true for RoCE and iWARP.
  [[nodiscard]] bool is_ethernet() const noexcept {
    return link_layer() == adverb::link_layer::ethernet;
  }
  /// Returns true if every address needs a global route header (GRH): on Ethernet, or if the port
  /// requires it.
  [[nodiscard]] bool needs_global_route() const noexcept {
    return is_ethernet() || (native_.flags & IBV_QPF_GRH_REQUIRED) != 0;
  }
  /// Returns the state of the physical link.
  [[nodiscard]] adverb::physical_state physical_state() const noexcept {
    return static_cast<adverb::physical_state>(native_.phys_state);
  }
  /// Returns the MTU in use.
  [[nodiscard]] mtu active_mtu() const noexcept { return static_cast<mtu>(native_.active_mtu); }
  /// Returns the largest MTU of the port.
  [[nodiscard]] mtu max_mtu() const noexcept { return static_cast<mtu>(native_.max_mtu); }
  /// Returns the local identifier (LID); 0 on Ethernet.
  [[nodiscard]] adverb::lid lid() const noexcept { return static_cast<adverb::lid>(native_.lid); }
  /// Returns the number of low LID bits that select a path to the same port.
  [[nodiscard]] std::uint8_t lid_mask_control() const noexcept { return native_.lmc; }
  /// Returns the LID of the subnet manager.
  [[nodiscard]] adverb::lid subnet_manager_lid() const noexcept {
    return static_cast<adverb::lid>(native_.sm_lid);
  }
  /// Returns the service level for messages to the subnet manager.
  [[nodiscard]] service_level subnet_manager_service_level() const noexcept {
    return static_cast<service_level>(native_.sm_sl);
  }
  /// Returns the number of entries in the GID table.
  [[nodiscard]] std::uint32_t gid_table_length() const noexcept {
    return static_cast<std::uint32_t>(native_.gid_tbl_len);
  }
  /// Returns the number of entries in the P_Key table.
  [[nodiscard]] std::uint32_t pkey_table_length() const noexcept { return native_.pkey_tbl_len; }
  /// Returns the maximum message size in bytes.
  [[nodiscard]] std::uint32_t max_message_size() const noexcept { return native_.max_msg_sz; }
  /// Returns the number of packets that were dropped because of their P_Key.
  [[nodiscard]] std::uint32_t bad_pkey_counter() const noexcept { return native_.bad_pkey_cntr; }
  /// Returns the number of datagrams that were dropped because of their queue key.
  [[nodiscard]] std::uint32_t queue_key_violation_counter() const noexcept {
    return native_.qkey_viol_cntr;
  }
  /// Returns the number of virtual lanes; 0 if the port does not report it.
  [[nodiscard]] std::uint32_t virtual_lanes() const noexcept {
    return native_.max_vl_num >= 1 && native_.max_vl_num <= 4 ? 1U << (native_.max_vl_num - 1)
           : native_.max_vl_num == 5                          ? 15U
                                                              : 0U;
  }
  /// Returns the width of the link in use.
  [[nodiscard]] link_width active_width() const noexcept {
    return static_cast<link_width>(native_.active_width);
  }
  /// Returns the speed of a lane of the link in use.
  [[nodiscard]] link_speed active_speed() const noexcept {
    return static_cast<link_speed>(speed_code(native_));
  }
  /// Returns the nominal speed of the whole link in Mbit/s; 0 if the port does not report it.
  [[nodiscard]] std::uint32_t link_megabits() const noexcept {
    return lanes_of(active_width()) * megabits_of(active_speed());
  }
  /// Returns the capabilities of the port.
  [[nodiscard]] port_capabilities capabilities() const noexcept {
    return port_capabilities::from_bits(native_.port_cap_flags |
                                        std::uint64_t{native_.port_cap_flags2} << 32);
  }
  /// Returns the code of the longest time to answer the subnet manager, 4.096 us * 2^code.
  [[nodiscard]] std::uint8_t subnet_timeout_code() const noexcept { return native_.subnet_timeout; }
  /// Returns the kind of initialisation by the subnet manager, in the bits of the specification.
  [[nodiscard]] std::uint8_t initialization_type_reply() const noexcept {
    return native_.init_type_reply;
  }

  [[nodiscard]] const ibv_port_attr& native() const noexcept { return native_; }

 private:
  // Speeds beyond NDR do not fit the old field. Later versions of rdma-core have a second one.
  template <class Native>
  [[nodiscard]] static std::uint32_t speed_code(const Native& native) noexcept {
    if constexpr (requires { native.active_speed_ex; })
      if (native.active_speed_ex != 0) return native.active_speed_ex;
    return native.active_speed;
  }

  ibv_port_attr native_{};
};

}  // namespace adverb::inline ADVERB_ABI
