// SPDX-License-Identifier: MIT
// The actions of a flow rule on matching packets, besides delivery to its queue pair.
#pragma once

#include <cstdint>

#include <adverb/core/handle.hpp>

namespace adverb::inline ADVERB_ABI {

/// Tags the completion of the packet; extended completion queues return it as the flow tag. Devices
/// keep 24 bits of it.
struct action_tag {
  std::uint32_t tag;
};

/// Drops the packet.
struct action_drop {};

/// Applies a flow action, which must outlive the flow.
struct action_handle {
  reference<ibv_flow_action> action;
};

/// Counts the packet. Call `counters::attach` before creating the flow. The counters must outlive
/// the flow.
struct action_count {
  reference<ibv_counters> counters;
};

}  // namespace adverb::inline ADVERB_ABI
