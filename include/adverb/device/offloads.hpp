// SPDX-License-Identifier: MIT
// Offloads of a device: segmentation, pacing, raw packets, tag matching, completion moderation.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// The limits of TCP segmentation offload (TSO), which cuts one message into packets.
struct segmentation_offload {
  /// The maximum message size in bytes; 0 if the device has no such offload.
  std::uint32_t max_message_size = 0;
  transport_set transports{};

  friend constexpr bool operator==(const segmentation_offload&,
                                   const segmentation_offload&) noexcept = default;
};

/// The limits of packet pacing, the send rate limit of a queue pair, in kbit/s; all 0 if
/// unsupported.
struct packet_pacing {
  std::uint32_t min_rate = 0;
  std::uint32_t max_rate = 0;
  transport_set transports{};

  friend constexpr bool operator==(const packet_pacing&, const packet_pacing&) noexcept = default;
};

/// A capability of a device for raw packets.
enum class raw_packet_capability : std::uint32_t {
  vlan_stripping = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING,
  scatter_frame_checksum = IBV_RAW_PACKET_CAP_SCATTER_FCS,
  ip_checksum = IBV_RAW_PACKET_CAP_IP_CSUM,
  delay_drop = IBV_RAW_PACKET_CAP_DELAY_DROP,
};
template <>
inline constexpr bool is_flag<raw_packet_capability> = true;
using raw_packet_capabilities = flags<raw_packet_capability>;

[[nodiscard]] constexpr std::string_view flag_name(raw_packet_capability capability) noexcept {
  switch (capability) {
    case raw_packet_capability::vlan_stripping: return "vlan_stripping";
    case raw_packet_capability::scatter_frame_checksum: return "scatter_frame_checksum";
    case raw_packet_capability::ip_checksum: return "ip_checksum";
    case raw_packet_capability::delay_drop: return "delay_drop";
  }
  return {};
}

/// The connections for which a device matches tags.
enum class tag_matching_capability : std::uint32_t {
  rc = IBV_TM_CAP_RC,
};
template <>
inline constexpr bool is_flag<tag_matching_capability> = true;
using tag_matching_capabilities = flags<tag_matching_capability>;

[[nodiscard]] constexpr std::string_view flag_name(tag_matching_capability capability) noexcept {
  return capability == tag_matching_capability::rc ? "rc" : "";
}

/// The limits of shared receive queues that match tags; all 0 if unsupported.
struct tag_matching_limits {
  /// The maximum size of the header of a rendezvous request, in bytes.
  std::uint32_t max_rendezvous_header_size = 0;
  /// The maximum number of tagged buffers in the list of one queue.
  std::uint32_t max_tags = 0;
  /// The maximum number of operations in progress on a list.
  std::uint32_t max_operations = 0;
  /// The maximum number of scatter/gather elements of a tagged buffer.
  std::uint32_t max_sge = 0;
  tag_matching_capabilities capabilities{};

  friend constexpr bool operator==(const tag_matching_limits&,
                                   const tag_matching_limits&) noexcept = default;
};

/// The limits of completion moderation, which delays a completion queue's events; all 0 if
/// unsupported.
struct completion_moderation_limits {
  /// In completions.
  std::uint16_t max_count = 0;
  /// In microseconds.
  std::uint16_t max_period = 0;

  friend constexpr bool operator==(const completion_moderation_limits&,
                                   const completion_moderation_limits&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
