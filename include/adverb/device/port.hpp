// SPDX-License-Identifier: MIT
// The state and attributes of a port.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/ids.hpp>
#include <adverb/device/link.hpp>
#include <adverb/device/port_capabilities.hpp>

namespace adverb::inline ADVERB_ABI {

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
  constexpr std::array<std::string_view, 6> names{"no change", "down",   "initializing",
                                                  "armed",     "active", "active (deferred)"};
  const auto number = static_cast<std::uint32_t>(state);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// The attributes of a port, from `context.query_port(port)`.
class port_attributes {
 public:
  port_attributes() noexcept = default;
  explicit port_attributes(const ibv_port_attr& native) noexcept : native_{native} {}

  [[nodiscard]] port_state state() const noexcept { return static_cast<port_state>(native_.state); }
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
  [[nodiscard]] adverb::physical_state physical_state() const noexcept {
    return static_cast<adverb::physical_state>(native_.phys_state);
  }
  [[nodiscard]] mtu active_mtu() const noexcept { return static_cast<mtu>(native_.active_mtu); }
  [[nodiscard]] mtu max_mtu() const noexcept { return static_cast<mtu>(native_.max_mtu); }
  [[nodiscard]] adverb::lid lid() const noexcept { return static_cast<adverb::lid>(native_.lid); }
  /// Returns the number of low LID bits that select a path to the same port.
  [[nodiscard]] std::uint8_t lid_mask_control() const noexcept { return native_.lmc; }
  [[nodiscard]] adverb::lid subnet_manager_lid() const noexcept {
    return static_cast<adverb::lid>(native_.sm_lid);
  }
  [[nodiscard]] service_level subnet_manager_service_level() const noexcept {
    return static_cast<service_level>(native_.sm_sl);
  }
  [[nodiscard]] std::uint32_t gid_table_length() const noexcept {
    return static_cast<std::uint32_t>(native_.gid_tbl_len);
  }
  [[nodiscard]] std::uint32_t pkey_table_length() const noexcept { return native_.pkey_tbl_len; }
  /// Returns the maximum message size in bytes.
  [[nodiscard]] std::uint32_t max_message_size() const noexcept { return native_.max_msg_sz; }
  [[nodiscard]] std::uint32_t bad_pkey_counter() const noexcept { return native_.bad_pkey_cntr; }
  [[nodiscard]] std::uint32_t queue_key_violation_counter() const noexcept {
    return native_.qkey_viol_cntr;
  }
  /// Returns the number of virtual lanes; 0 if the port does not report it.
  [[nodiscard]] std::uint32_t virtual_lanes() const noexcept {
    return native_.max_vl_num >= 1 && native_.max_vl_num <= 4 ? 1U << (native_.max_vl_num - 1)
           : native_.max_vl_num == 5                          ? 15U
                                                              : 0U;
  }
  [[nodiscard]] link_width active_width() const noexcept {
    return static_cast<link_width>(native_.active_width);
  }
  [[nodiscard]] link_speed active_speed() const noexcept {
    return static_cast<link_speed>(speed_code(native_));
  }
  /// Returns the nominal speed of the whole link in Mbit/s; 0 if the port does not report it.
  [[nodiscard]] std::uint32_t link_megabits() const noexcept {
    return lanes_of(active_width()) * megabits_of(active_speed());
  }
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
