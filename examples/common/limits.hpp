// SPDX-License-Identifier: MIT
// Whether a device can do what the arguments ask for: said before a peer is troubled with it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"

namespace examples {

/// The port, known to carry traffic.
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

/// What one queue pair can have in its receive queue while all of that can complete.
inline void check_receive_depth(adverb::context_ref device, std::uint32_t depth) {
  const adverb::device_attributes limits = device.query_device();
  check_limit("--rx-depth", depth, limits.max_work_requests());
  check_limit("--rx-depth", depth, limits.max_completion_queue_entries() - 1);
}

}  // namespace examples
