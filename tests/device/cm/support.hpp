// SPDX-License-Identifier: MIT
// What the tests of connections share: the address of the device, and waiting for a completion.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include <adverb/cm.hpp>
#include <support/skip.hpp>

#include "../support.hpp"

namespace cm_test {

/// The IPv4 address of the device that the tests run on, with a port.
[[nodiscard]] inline adverb::cm::socket_address device_address(std::uint16_t port = 0) {
  const char* const text = std::getenv("SOFTRDMA_ADDRESS");
  const auto address = adverb::cm::socket_address::parse(text == nullptr ? "" : text, port);
  if (!address) throw std::runtime_error{"SOFTRDMA_ADDRESS does not name the device's address"};
  return *address;
}

/// Ends the program as skipped where the device has no datagrams, as on iWARP.
inline void need_datagrams() {
  if (adverb::open_device().device().transport_type() == adverb::transport_type::iwarp)
    skip("datagrams", "iWARP has only connections");
}

}  // namespace cm_test
