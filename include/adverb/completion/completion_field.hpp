// SPDX-License-Identifier: MIT
// The fields of an extended completion queue, and the types that only such a queue returns.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/device_attributes.hpp>

namespace adverb::inline ADVERB_ABI {

/// The optional fields of a completion, chosen when the queue is created. The id, status, opcode,
/// vendor error and flags are always available.
enum class completion_field : std::uint32_t {
  byte_length = IBV_WC_EX_WITH_BYTE_LEN,
  /// The immediate data, and the key that the sender invalidated.
  immediate = IBV_WC_EX_WITH_IMM,
  queue_pair = IBV_WC_EX_WITH_QP_NUM,
  source_queue_pair = IBV_WC_EX_WITH_SRC_QP,
  source_lid = IBV_WC_EX_WITH_SLID,
  service_level = IBV_WC_EX_WITH_SL,
  path_bits = IBV_WC_EX_WITH_DLID_PATH_BITS,
  /// Time of completion, in ticks of the device's clock.
  timestamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
  vlan = IBV_WC_EX_WITH_CVLAN,
  flow_tag = IBV_WC_EX_WITH_FLOW_TAG,
  /// The tag of a message to a tag matching queue.
  tag_matching = IBV_WC_EX_WITH_TM_INFO,
  /// Time of completion, by the wall clock.
  wall_clock = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
};
template <>
inline constexpr bool is_flag<completion_field> = true;
/// A set of optional fields of extended completions.
using completion_fields = flags<completion_field>;

/// The fields that the classic completion queue also has, except for the P_Key index. Every
/// provider of extended completion queues supports them.
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

/// A time in nanoseconds since 1970, reported by the device.
enum class wall_clock_nanoseconds : std::uint64_t {};
/// The VLAN tag of a packet: identifier (low 12 bits) and priority.
enum class vlan_tag : std::uint16_t {};
/// The tag of a packet, set by the flow rule that steered it (24 bits).
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

/// The tag data of a message to a tag matching queue.
struct matched_tag {
  /// The tag of the message.
  std::uint64_t tag = 0;
  /// Additional bits set by the sender.
  std::uint32_t user_data = 0;

  friend constexpr bool operator==(const matched_tag&, const matched_tag&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
