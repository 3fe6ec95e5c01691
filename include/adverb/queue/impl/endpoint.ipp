// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/device/port.hpp>
#include <adverb/queue/endpoint.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::array<std::byte, endpoint::encoded_size> endpoint::encode() const noexcept {
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

ADVERB_FUNC endpoint endpoint::decode(std::span<const std::byte, encoded_size> bytes,
                                      on_failure policy) {
  using detail::load_little_endian;
  const auto size = static_cast<adverb::mtu>(bytes[1]);
  const auto number = load_little_endian<4, std::uint32_t>(bytes);
  const auto sequence = load_little_endian<8, std::uint32_t>(bytes);
  const std::string_view defect =
      bytes[0] != format_version ? "possible causes: not an endpoint, or one of a later version"
      : bytes_of(size) == 0      ? "the MTU is invalid"
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

ADVERB_FUNC static_string<128> to_text(const endpoint& end) noexcept {
  return static_string<128>{[&](text_writer& writer) {
    writer.put("lid ").put(end.lid).put(" qp ").put(end.number).put(" psn ");
    writer.put(end.psn).put(" gid ").put(end.gid);
  }};
}

}  // namespace adverb::inline ADVERB_ABI
