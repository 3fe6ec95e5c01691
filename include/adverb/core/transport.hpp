// SPDX-License-Identifier: MIT
// The transport services of queue pairs, and sets of them.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The transport service of a queue pair.
enum class transport : std::uint32_t {
  /// Reliable connection: all operations, acknowledged, in order, to one peer.
  rc = IBV_QPT_RC,
  /// Unreliable connection: send and write, to one peer. Lost messages are not resent.
  uc = IBV_QPT_UC,
  /// Unreliable datagram: messages of one packet, to any peer.
  ud = IBV_QPT_UD,
  /// Raw packets: whole Ethernet frames, headers included.
  raw_packet = IBV_QPT_RAW_PACKET,
  /// The initiator of an extended reliable connection (XRC): sends as RC does, receives nothing.
  xrc_send = IBV_QPT_XRC_SEND,
  /// The target of an extended reliable connection: messages go to the shared receive queue that
  /// the request names.
  xrc_recv = IBV_QPT_XRC_RECV,
  /// Defined by the driver of the device.
  driver = IBV_QPT_DRIVER,
};

[[nodiscard]] constexpr static_string<48> to_text(transport service) noexcept {
  constexpr std::string_view names = "||RC|UC|UD||||raw packet|XRC initiator|XRC target";
  const auto number = static_cast<std::uint32_t>(service);
  if (service == transport::driver) return detail::name_or_number("driver", number);
  return detail::listed_name_or_number(names, number);
}

/// A set of transports, for instance those for which a device has a feature.
class transport_set {
 public:
  constexpr transport_set() noexcept = default;
  /// Makes a set from the bits of the C API: bit n stands for the transport with number n.
  [[nodiscard]] static constexpr transport_set from_bits(std::uint32_t bits) noexcept {
    transport_set result;
    result.bits_ = bits;
    return result;
  }

  /// Returns the bits of the C API.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  /// Returns true if the transport is in the set. Wraps: ibv_is_qpt_supported(3).
  [[nodiscard]] constexpr bool contains(transport service) const noexcept {
    const auto number = static_cast<std::uint32_t>(service);
    // Driver transports have no bit: their number is beyond 31.
    return number < 32 && (bits_ >> number & 1) != 0;
  }

  friend constexpr bool operator==(transport_set, transport_set) noexcept = default;

 private:
  std::uint32_t bits_ = 0;
};

/// Formats a set: "RC, UD"; "none" if empty.
[[nodiscard]] constexpr static_string<96> to_text(transport_set set) noexcept {
  return static_string<96>{[&](text_writer& writer) {
    if (set.empty()) writer.put("none");
    std::string_view separator;
    for (std::uint32_t number = 0; number < 32; ++number) {
      if (!set.contains(static_cast<transport>(number))) continue;
      writer.put(separator).put(static_cast<transport>(number));
      separator = ", ";
    }
  }};
}

}  // namespace adverb::inline ADVERB_ABI
