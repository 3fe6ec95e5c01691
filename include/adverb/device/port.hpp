// SPDX-License-Identifier: MIT
// Ports: their state, and everything else that a port says of itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/ids.hpp>

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

[[nodiscard]] constexpr text<48> to_text(port_state state) noexcept {
  constexpr std::array<std::string_view, 6> names{"no change", "down",   "initializing",
                                                  "armed",     "active", "active (deferred)"};
  const auto number = static_cast<std::uint32_t>(state);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// What lies under a port.
enum class link_layer : std::uint8_t {
  unspecified = IBV_LINK_LAYER_UNSPECIFIED,
  infiniband = IBV_LINK_LAYER_INFINIBAND,
  ethernet = IBV_LINK_LAYER_ETHERNET,
};

[[nodiscard]] constexpr text<48> to_text(link_layer layer) noexcept {
  constexpr std::array<std::string_view, 3> names{"unspecified", "InfiniBand", "Ethernet"};
  const auto number = static_cast<std::uint8_t>(layer);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// The largest payload of a packet, one of five sizes.
enum class mtu : std::uint8_t {
  bytes_256 = IBV_MTU_256,
  bytes_512 = IBV_MTU_512,
  bytes_1024 = IBV_MTU_1024,
  bytes_2048 = IBV_MTU_2048,
  bytes_4096 = IBV_MTU_4096,
};

/// The size in bytes; 0 for a value that is none of the five.
[[nodiscard]] constexpr std::uint32_t bytes_of(mtu size) noexcept {
  const auto code = static_cast<std::uint8_t>(size);
  return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? 128U << code : 0;
}

/// "1024 bytes".
[[nodiscard]] constexpr text<48> to_text(mtu size) noexcept {
  return text<48>{[&](text_writer& writer) { writer.decimal(bytes_of(size)).put(" bytes"); }};
}

/// What a port says of itself: made by `context.query_port(port)`.
class port_attributes {
 public:
  port_attributes() noexcept = default;
  explicit port_attributes(const ibv_port_attr& native) noexcept : native_{native} {}

  [[nodiscard]] port_state state() const noexcept { return static_cast<port_state>(native_.state); }
  [[nodiscard]] adverb::link_layer link_layer() const noexcept {
    return static_cast<adverb::link_layer>(native_.link_layer);
  }
  /// True for RoCE and iWARP, where every address needs a GRH.
  [[nodiscard]] bool is_ethernet() const noexcept {
    return link_layer() == adverb::link_layer::ethernet;
  }
  [[nodiscard]] mtu active_mtu() const noexcept { return static_cast<mtu>(native_.active_mtu); }
  [[nodiscard]] mtu max_mtu() const noexcept { return static_cast<mtu>(native_.max_mtu); }
  [[nodiscard]] adverb::lid lid() const noexcept { return static_cast<adverb::lid>(native_.lid); }
  /// How many low bits of the LID are paths to the same port.
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
  /// The largest message, in bytes.
  [[nodiscard]] std::uint32_t max_message_size() const noexcept { return native_.max_msg_sz; }
  [[nodiscard]] std::uint32_t bad_pkey_counter() const noexcept { return native_.bad_pkey_cntr; }
  [[nodiscard]] std::uint32_t queue_key_violation_counter() const noexcept {
    return native_.qkey_viol_cntr;
  }
  /// The number of virtual lanes; 0 when the port does not say.
  [[nodiscard]] std::uint32_t virtual_lanes() const noexcept {
    return native_.max_vl_num >= 1 && native_.max_vl_num <= 4 ? 1U << (native_.max_vl_num - 1)
           : native_.max_vl_num == 5                          ? 15U
                                                              : 0U;
  }
  /// The number of lanes of the link; 0 when the port does not say.
  [[nodiscard]] std::uint32_t active_lanes() const noexcept {
    switch (native_.active_width) {
      case 1: return 1;
      case 2: return 4;
      case 4: return 8;
      case 8: return 12;
      case 16: return 2;
      default: return 0;
    }
  }
  /// The signalling rate of one lane, in Mbit/s; 0 when the port does not say.
  [[nodiscard]] std::uint32_t lane_rate() const noexcept {
    switch (native_.active_speed) {
      case 1: return 2'500;
      case 2: return 5'000;
      case 4:
      case 8: return 10'000;
      case 16: return 14'000;
      case 32: return 25'000;
      case 64: return 50'000;
      case 128: return 100'000;
      default: return 0;
    }
  }
  /// The capability bits of the port (the IBV_PORT_…_SUP family of the C API).
  [[nodiscard]] std::uint32_t capability_bits() const noexcept { return native_.port_cap_flags; }

  [[nodiscard]] const ibv_port_attr& native() const noexcept { return native_; }

 private:
  ibv_port_attr native_{};
};

}  // namespace adverb::inline ADVERB_ABI
