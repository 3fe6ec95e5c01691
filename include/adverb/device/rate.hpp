// SPDX-License-Identifier: MIT
// Rate limits for packets to a peer.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// A rate limit of an address, by its nominal number of Gbit/s.
enum class rate : std::uint8_t {
  /// The speed of the port.
  unlimited = IBV_RATE_MAX,
  gigabits_2_5 = IBV_RATE_2_5_GBPS,
  gigabits_5 = IBV_RATE_5_GBPS,
  gigabits_10 = IBV_RATE_10_GBPS,
  gigabits_14 = IBV_RATE_14_GBPS,
  gigabits_20 = IBV_RATE_20_GBPS,
  gigabits_25 = IBV_RATE_25_GBPS,
  gigabits_28 = IBV_RATE_28_GBPS,
  gigabits_30 = IBV_RATE_30_GBPS,
  gigabits_40 = IBV_RATE_40_GBPS,
  gigabits_50 = IBV_RATE_50_GBPS,
  gigabits_56 = IBV_RATE_56_GBPS,
  gigabits_60 = IBV_RATE_60_GBPS,
  gigabits_80 = IBV_RATE_80_GBPS,
  gigabits_100 = IBV_RATE_100_GBPS,
  gigabits_112 = IBV_RATE_112_GBPS,
  gigabits_120 = IBV_RATE_120_GBPS,
  gigabits_168 = IBV_RATE_168_GBPS,
  gigabits_200 = IBV_RATE_200_GBPS,
  gigabits_300 = IBV_RATE_300_GBPS,
  gigabits_400 = IBV_RATE_400_GBPS,
  gigabits_600 = IBV_RATE_600_GBPS,
  gigabits_800 = 23,   // IBV_RATE_800_GBPS, which not every version of rdma-core has
  gigabits_1200 = 24,  // IBV_RATE_1200_GBPS, likewise
};

/// Returns the rate in Mbit/s; nothing for `unlimited` and for an invalid code.
/// Wraps: ibv_rate_to_mbps(3).
[[nodiscard]] std::optional<std::uint32_t> megabits_of(rate code) noexcept;

/// Returns the rate of exactly `megabits` Mbit/s, if there is one. Wraps: mbps_to_ibv_rate(3).
[[nodiscard]] std::optional<rate> rate_of_megabits(std::uint32_t megabits) noexcept;

/// Returns the rate as a multiple of 2.5 Gbit/s; nothing if the C library has none for it.
/// Wraps: ibv_rate_to_mult(3).
[[nodiscard]] std::optional<std::uint32_t> multiple_of(rate code) noexcept;

/// Returns the rate that is `multiple` times 2.5 Gbit/s, if there is one.
/// Wraps: mult_to_ibv_rate(3).
[[nodiscard]] std::optional<rate> rate_of_multiple(std::uint32_t multiple) noexcept;

/// Formats a rate: "10 Gbit/s", "unlimited".
[[nodiscard]] static_string<48> to_text(rate code) noexcept;

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/rate.ipp>
#endif
