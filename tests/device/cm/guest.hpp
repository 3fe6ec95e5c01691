// SPDX-License-Identifier: MIT
// Changes of the machine by tests of addresses, if it is a virtual one that is discarded.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include <adverb/cm.hpp>

#include "support.hpp"

namespace cm_test {

/// Runs a command in the guest, as root. False where there is none: the machine is somebody's.
inline bool in_guest(const std::string& command) {
  const std::string topology = environment("SOFTRDMA_TOPOLOGY");
  if (topology.empty() || topology == "host") return false;
  return std::system(("PATH=$PATH:/usr/sbin:/sbin; " + command).c_str()) == 0;
}

/// The link-local IPv6 address of the device's interface, with its scope.
[[nodiscard]] inline std::optional<adverb::cm::socket_address> link_local_address(
    std::uint16_t port = 0) {
  std::optional<adverb::cm::socket_address> found;
  adverb::detail::for_each_local_address(
      [&](const adverb::cm::socket_address& address, const ifaddrs& entry) {
        if (address.is_link_local() && environment("SOFTRDMA_INTERFACE") == entry.ifa_name)
          found = address.with_port(port);
        return !found;
      });
  return found;
}

[[nodiscard]] inline adverb::cm::socket_address in_numbers(const char* numbers,
                                                           std::uint16_t port) {
  return adverb::cm::socket_address::parse(numbers, port).value();
}

}  // namespace cm_test
