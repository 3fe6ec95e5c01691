// SPDX-License-Identifier: MIT
// Addresses for librdmacm that were given as arguments.
#pragma once

#include <cstdint>
#include <string>

#include <adverb/cm.hpp>

#include "common/command_line.hpp"

namespace examples {

/// `option` names it in the complaint about one that is no IP address.
inline adverb::cm::socket_address ip_address(const std::string& option, const std::string& text,
                                             std::uint16_t port = 0) {
  const auto address = adverb::cm::socket_address::parse(text, port);
  if (!address) throw wrong_argument{option + " is " + text + ", which is not an IP address"};
  return *address;
}

}  // namespace examples
