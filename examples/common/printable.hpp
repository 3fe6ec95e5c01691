// SPDX-License-Identifier: MIT
// Texts of peers, for a terminal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace examples {

/// Returns a peer's text without control characters, which could be commands to a terminal.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result{text};
  std::replace_if(
      result.begin(), result.end(),
      [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
  return result;
}

}  // namespace examples
