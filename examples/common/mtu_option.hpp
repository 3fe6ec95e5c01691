// SPDX-License-Identifier: MIT
// Path MTUs as arguments.
#pragma once

#include <array>
#include <string>

#include <adverb/device/port.hpp>

#include "common/command_line.hpp"

namespace examples {

/// Adds an option that takes an MTU in bytes. `Mtu` is adverb::mtu, or an optional one.
template <class Mtu>
option add_mtu(command_line& arguments, Mtu& mtu, const std::string& description) {
  constexpr std::array sizes{"256", "512", "1024", "2048", "4096"};
  return arguments.add_choice("-m,--mtu", mtu, sizes, description, adverb::mtu::bytes_256)
      .type_name("NUMBER");
}

/// The same with a default of 1024 bytes.
inline void add_mtu(command_line& arguments, adverb::mtu& mtu) {
  add_mtu(arguments, mtu, "Path MTU, in bytes; the same on both sides").default_text("1024");
}

}  // namespace examples
