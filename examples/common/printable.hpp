// SPDX-License-Identifier: MIT
// Texts of peers, for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace examples {

/// Returns a peer's text without control characters, which could be commands to a terminal.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result{text};
  unsigned char before = 0;
  for (char& each : result) {
    const auto byte = static_cast<unsigned char>(each);
    // A control character from 0x80 on has two bytes in UTF-8. Letters have other bytes of this
    // range.
    const bool is_second = byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2);
    if (byte < ' ' || byte == 0x7f || is_second) each = '?';
    before = byte;
  }
  return result;
}

}  // namespace examples
