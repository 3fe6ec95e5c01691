// SPDX-License-Identifier: MIT
// What a flow rule does with the packets that it matches, beside handing them to its queue pair.
#pragma once

#include <cstdint>

#include <adverb/core/handle.hpp>

namespace adverb::inline ADVERB_ABI {

/// Gives the packet's completion a number, which extended completion queues show as its flow tag.
/// Devices keep 24 bits of it.
struct action_tag {
  std::uint32_t tag;
};

/// Drops the packet.
struct action_drop {};

/// Carries out a flow action, which has to outlive the flow.
struct action_handle {
  reference<ibv_flow_action> action;
};

/// Counts the packet. The counters have to outlive the flow, and what they count has to be attached
/// before.
struct action_count {
  reference<ibv_counters> counters;
};

}  // namespace adverb::inline ADVERB_ABI
