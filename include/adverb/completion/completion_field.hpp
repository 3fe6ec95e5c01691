// SPDX-License-Identifier: MIT
// What an extended completion queue can tell of a completion, and the types of what only it can.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/clock.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a queue has to be made with to be asked it. The id, status, opcode, vendor error and flags
/// of a completion are always there.
enum class completion_field : std::uint32_t {
  byte_length = IBV_WC_EX_WITH_BYTE_LEN,
  /// The immediate data, and the key that the sender invalidated.
  immediate = IBV_WC_EX_WITH_IMM,
  queue_pair = IBV_WC_EX_WITH_QP_NUM,
  source_queue_pair = IBV_WC_EX_WITH_SRC_QP,
  source_lid = IBV_WC_EX_WITH_SLID,
  service_level = IBV_WC_EX_WITH_SL,
  path_bits = IBV_WC_EX_WITH_DLID_PATH_BITS,
  /// When it completed, in ticks of the device's clock.
  timestamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
  vlan = IBV_WC_EX_WITH_CVLAN,
  flow_tag = IBV_WC_EX_WITH_FLOW_TAG,
  /// The tag that a message to a tag matching queue carried.
  tag_matching = IBV_WC_EX_WITH_TM_INFO,
  /// When it completed, by the clock on the wall.
  wall_clock = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
};
template <>
inline constexpr bool is_flag<completion_field> = true;
using completion_fields = flags<completion_field>;

/// What the classic completion queue tells too, except for the P_Key index: what every provider of
/// extended completion queues has.
inline constexpr completion_fields standard_completion_fields =
    completion_fields::from_bits(IBV_WC_STANDARD_FLAGS);

[[nodiscard]] constexpr std::string_view flag_name(completion_field field) noexcept {
  switch (field) {
    case completion_field::byte_length: return "byte_length";
    case completion_field::immediate: return "immediate";
    case completion_field::queue_pair: return "queue_pair";
    case completion_field::source_queue_pair: return "source_queue_pair";
    case completion_field::source_lid: return "source_lid";
    case completion_field::service_level: return "service_level";
    case completion_field::path_bits: return "path_bits";
    case completion_field::timestamp: return "timestamp";
    case completion_field::vlan: return "vlan";
    case completion_field::flow_tag: return "flow_tag";
    case completion_field::tag_matching: return "tag_matching";
    case completion_field::wall_clock: return "wall_clock";
  }
  return {};
}

/// A time in nanoseconds since 1970, as the device has it.
enum class wall_clock_nanoseconds : std::uint64_t {};
/// The VLAN tag that a packet came with: identifier (low 12 bits) and priority.
enum class vlan_tag : std::uint16_t {};
/// The number that the flow rule which steered a packet gave it (24 bits).
enum class flow_tag : std::uint32_t {};

[[nodiscard]] constexpr static_string<24> to_text(wall_clock_nanoseconds time) noexcept {
  return detail::decimal_text(static_cast<std::uint64_t>(time));
}
[[nodiscard]] constexpr static_string<24> to_text(vlan_tag tag) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint16_t>(tag), 4);
}
[[nodiscard]] constexpr static_string<24> to_text(flow_tag tag) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(tag));
}

/// What a message to a tag matching queue carried.
struct matched_tag {
  std::uint64_t tag = 0;
  /// The sender's own bits.
  std::uint32_t user_data = 0;

  friend constexpr bool operator==(const matched_tag&, const matched_tag&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
