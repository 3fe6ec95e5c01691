// SPDX-License-Identifier: MIT
// Checks that a device can do what the arguments require, before a peer is contacted.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"

namespace examples {

/// Returns the port if it is active, or throws.
inline adverb::port_attributes active_port(adverb::context_ref device, adverb::port_number number) {
  const adverb::port_attributes port = device.query_port(number);
  if (port.state() != adverb::port_state::active)
    throw std::runtime_error{"port " + adverb::to_string(number) + " of " +
                             std::string{device.device().name()} + " is " +
                             adverb::to_string(port.state()) +
                             ", not active: bring its network interface or cable up"};
  return port;
}

inline void check_limit(const std::string& what, std::uint64_t asked, std::uint64_t allowed) {
  if (asked > allowed)
    throw wrong_argument{what + " is " + std::to_string(asked) + ", but at most " +
                         std::to_string(allowed) + " is possible here"};
}

/// Throws if `depth` exceeds the receive queue of one queue pair, or a completion queue with room
/// for all of it.
inline void check_receive_depth(adverb::context_ref device, std::uint32_t depth) {
  const adverb::device_attributes limits = device.query_device();
  check_limit("--rx-depth", depth, limits.max_work_requests());
  check_limit("--rx-depth", depth, limits.max_completion_queue_entries() - 1);
}

}  // namespace examples
