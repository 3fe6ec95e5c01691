// SPDX-License-Identifier: MIT
// Addresses for librdmacm from the command line.
#pragma once

#include <cstdint>
#include <string>

#include <adverb/cm.hpp>

#include "common/command_line.hpp"

namespace examples {

/// `option` is the name of the option in the error about a text that is no IP address.
inline adverb::cm::socket_address ip_address(const std::string& option, const std::string& text,
                                             std::uint16_t port = 0) {
  const auto address = adverb::cm::socket_address::parse(text, port);
  if (!address) throw wrong_argument{option + " is " + text + ", which is not an IP address"};
  return *address;
}

}  // namespace examples
