// SPDX-License-Identifier: MIT
// Options of a flow rule besides its matches.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// Tags the completion of the packet; extended completion queues return it as the flow tag. Devices
/// keep 24 bits of it.
struct action_tag {
  /// The tag.
  std::uint32_t tag;
};

/// Drops the packet.
struct action_drop {};

/// Applies a flow action, which must outlive the flow.
struct action_handle {
  /// The action.
  reference<ibv_flow_action> action;
};

/// Counts the packet. Call `counters::attach` before creating the flow. The counters must outlive
/// the flow.
struct action_count {
  /// The counters.
  reference<ibv_counters> counters;
};

/// The packets to which a rule applies.
enum class flow_type : std::uint32_t {
  /// The packets that match its specifications.
  normal = IBV_FLOW_ATTR_NORMAL,
  /// All packets that no other rule has taken.
  all_default = IBV_FLOW_ATTR_ALL_DEFAULT,
  /// All multicast packets that no other rule has taken.
  multicast_default = IBV_FLOW_ATTR_MC_DEFAULT,
  /// A copy of every packet that arrives at the port.
  sniffer = IBV_FLOW_ATTR_SNIFFER,
};

[[nodiscard]] constexpr static_string<48> to_text(flow_type type) noexcept {
  constexpr std::string_view names = "normal|all default|multicast default|sniffer";
  const auto number = static_cast<std::uint32_t>(type);
  return detail::listed_name_or_number(names, number);
}

/// A property of a flow rule.
enum class flow_flag : std::uint32_t {
  /// Lets rules of lower priority also match the packet (normal rules only).
  do_not_trap = IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
  /// Applies to sent packets, from any queue pair; the rule's queue pair only selects the device.
  egress = IBV_FLOW_ATTR_FLAGS_EGRESS,
};
template <>
inline constexpr bool is_flag<flow_flag> = true;
/// A set of properties of a flow rule.
using flow_flags = flags<flow_flag>;

[[nodiscard]] constexpr std::string_view flag_name(flow_flag flag) noexcept {
  switch (flag) {
    case flow_flag::do_not_trap: return "do_not_trap";
    case flow_flag::egress: return "egress";
  }
  return {};
}

/// Options of a flow rule.
struct flow_options {
  /// Rules with lower numbers are tried first.
  std::uint16_t priority = 0;
  /// The port at which packets arrive.
  port_number port{1};
  /// The packets to which the rule applies.
  flow_type type = flow_type::normal;
  /// Properties of the rule.
  flow_flags flags{};
};

}  // namespace adverb::inline ADVERB_ABI
