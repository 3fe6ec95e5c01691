// SPDX-License-Identifier: MIT
// Endpoints: the data that the two sides of a connection exchange.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port.hpp>

namespace adverb::inline ADVERB_ABI {

/// Describes one end of a connection to its peer. `waiting.endpoint()` returns that of this side.
/// Send it by any means, as `encode()`d bytes or in a format of the program. Pass the peer's to
/// `rtr().remote(…)` or `connect(…)`.
///
/// Wire format: 40 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     1  version of the format: 1
///          1     1  MTU, as the code 1 (256 bytes) to 5 (4096)
///          2     2  LID
///          4     4  queue pair number
///          8     4  packet sequence number
///         12     4  queue key
///         16    16  GID, in network order
///         32     1  reads and atomics in progress, as the responder
///         33     1  reads and atomics in progress, as the requester
///         34     6  zero
struct endpoint {
  static constexpr std::size_t encoded_size = 40;

  qp_number number{};
  /// Packet sequence number of the first packet that this side sends.
  adverb::psn psn{};
  adverb::lid lid{};
  adverb::gid gid{};
  /// Largest packet that this side accepts.
  adverb::mtu mtu = adverb::mtu::bytes_1024;
  /// Maximum number of reads and atomics in progress at this side as the responder (RC).
  std::uint8_t max_destination_read_atomic = 1;
  /// Maximum number of reads and atomics in progress from this side as the requester (RC).
  std::uint8_t max_initiator_read_atomic = 1;
  /// Key that datagrams to this side must carry (UD).
  adverb::queue_key queue_key{};

  friend bool operator==(const endpoint&, const endpoint&) noexcept = default;

  /// Returns the bytes to send to a peer.
  [[nodiscard]] std::array<std::byte, encoded_size> encode() const noexcept {
    using detail::store_little_endian;
    std::array<std::byte, encoded_size> bytes{};
    bytes[0] = format_version;
    bytes[1] = static_cast<std::byte>(mtu);
    store_little_endian<2>(bytes, static_cast<std::uint16_t>(lid));
    store_little_endian<4>(bytes, static_cast<std::uint32_t>(number));
    store_little_endian<8>(bytes, psn.value());
    store_little_endian<12>(bytes, static_cast<std::uint32_t>(queue_key));
    for (std::size_t index = 0; index < 16; ++index)
      bytes[16 + index] = std::byte{gid.bytes()[index]};
    bytes[32] = std::byte{max_destination_read_atomic};
    bytes[33] = std::byte{max_initiator_read_atomic};
    return bytes;
  }

  /// Decodes the bytes that a peer sent. Fails with EPROTO if they are no endpoint.
  [[nodiscard]] static endpoint decode(std::span<const std::byte, encoded_size> bytes,
                                       on_failure policy = throwing{}) {
    using detail::load_little_endian;
    const auto size = static_cast<adverb::mtu>(bytes[1]);
    const auto number = load_little_endian<4, std::uint32_t>(bytes);
    const auto sequence = load_little_endian<8, std::uint32_t>(bytes);
    const std::string_view defect =
        bytes[0] != format_version ? "not an endpoint, or one of a later version"
        : bytes_of(size) == 0      ? "the MTU is none of the five"
        : number > 0xff'ffff       ? "the queue pair number has more than 24 bits"
        : sequence > 0xff'ffff     ? "the packet sequence number has more than 24 bits"
                                   : "";
    if (!defect.empty()) {
      policy.report(EPROTO, "endpoint::decode",
                    [&](failure_description& description) { description.explain(defect); });
      return {};
    }
    policy.clear();
    std::array<std::uint8_t, 16> address{};
    for (std::size_t index = 0; index < 16; ++index)
      address[index] = std::to_integer<std::uint8_t>(bytes[16 + index]);
    return {
        .number = static_cast<qp_number>(number),
        .psn = adverb::psn{sequence},
        .lid = static_cast<adverb::lid>(load_little_endian<2, std::uint16_t>(bytes)),
        .gid = adverb::gid{address},
        .mtu = size,
        .max_destination_read_atomic = std::to_integer<std::uint8_t>(bytes[32]),
        .max_initiator_read_atomic = std::to_integer<std::uint8_t>(bytes[33]),
        .queue_key = static_cast<adverb::queue_key>(load_little_endian<12, std::uint32_t>(bytes))};
  }

 private:
  static constexpr std::byte format_version{1};
};

/// Formats an endpoint: "lid 0x0000 qp 0x11 psn 0x00abcd gid ::ffff:10.0.0.1".
[[nodiscard]] inline static_string<128> to_text(const endpoint& end) noexcept {
  return static_string<128>{[&](text_writer& writer) {
    writer.put("lid ").put(end.lid).put(" qp ").put(end.number).put(" psn ");
    writer.put(end.psn).put(" gid ").put(end.gid);
  }};
}

}  // namespace adverb::inline ADVERB_ABI
