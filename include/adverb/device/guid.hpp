// SPDX-License-Identifier: MIT
// Globally unique identifiers of devices.
#pragma once

#include <cstdint>

#include <endian.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// A 64-bit globally unique identifier of a device, in host byte order.
enum class guid : std::uint64_t {};

/// Formats a GUID: "5054:00ff:fe12:3456".
[[nodiscard]] constexpr static_string<24> to_text(guid identifier) noexcept {
  const auto number = static_cast<std::uint64_t>(identifier);
  return static_string<24>{[&](text_writer& writer) {
    for (int shift = 48; shift >= 0; shift -= 16)
      writer.hexadecimal((number >> shift) & 0xffff, 4).put(shift != 0 ? ":" : "");
  }};
}

namespace detail {
[[nodiscard]] inline guid guid_from_network(std::uint64_t number) noexcept {
  return static_cast<guid>(be64toh(number));
}
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
