// SPDX-License-Identifier: MIT
// Rate limits for packets to a peer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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

namespace detail {

struct rate_description {
  rate code;
  std::uint32_t megabits;
  /// The multiple of 2.5 Gbit/s; 0 if the C library has none.
  std::uint32_t multiple;
  std::string_view name;
};

// In ascending order.
inline constexpr std::array rates{
    rate_description{rate::gigabits_2_5, 2'500, 1, "2.5 Gbit/s"},
    rate_description{rate::gigabits_5, 5'000, 2, "5 Gbit/s"},
    rate_description{rate::gigabits_10, 10'000, 4, "10 Gbit/s"},
    rate_description{rate::gigabits_14, 14'062, 0, "14 Gbit/s"},
    rate_description{rate::gigabits_20, 20'000, 8, "20 Gbit/s"},
    rate_description{rate::gigabits_25, 25'781, 0, "25 Gbit/s"},
    rate_description{rate::gigabits_28, 28'125, 11, "28 Gbit/s"},
    rate_description{rate::gigabits_30, 30'000, 12, "30 Gbit/s"},
    rate_description{rate::gigabits_40, 40'000, 16, "40 Gbit/s"},
    rate_description{rate::gigabits_50, 53'125, 20, "50 Gbit/s"},
    rate_description{rate::gigabits_56, 56'250, 0, "56 Gbit/s"},
    rate_description{rate::gigabits_60, 60'000, 24, "60 Gbit/s"},
    rate_description{rate::gigabits_80, 80'000, 32, "80 Gbit/s"},
    rate_description{rate::gigabits_100, 103'125, 0, "100 Gbit/s"},
    rate_description{rate::gigabits_112, 112'500, 0, "112 Gbit/s"},
    rate_description{rate::gigabits_120, 120'000, 48, "120 Gbit/s"},
    rate_description{rate::gigabits_168, 168'750, 0, "168 Gbit/s"},
    rate_description{rate::gigabits_200, 206'250, 0, "200 Gbit/s"},
    rate_description{rate::gigabits_300, 309'375, 0, "300 Gbit/s"},
    rate_description{rate::gigabits_400, 425'000, 160, "400 Gbit/s"},
    rate_description{rate::gigabits_600, 637'500, 240, "600 Gbit/s"},
    rate_description{rate::gigabits_800, 850'000, 320, "800 Gbit/s"},
    rate_description{rate::gigabits_1200, 1'275'000, 480, "1200 Gbit/s"},
};

/// Returns the first rate that satisfies `is_wanted`; one of 0 Mbit/s if there is none. Not a
/// pointer, because GCC 12 with the undefined-behaviour sanitizer does not accept its comparison
/// with null as a constant.
template <class Predicate>
[[nodiscard]] constexpr rate_description find_rate(const Predicate& is_wanted) noexcept {
  for (const rate_description& candidate : rates)
    if (is_wanted(candidate)) return candidate;
  return {};
}

[[nodiscard]] constexpr rate_description describe(rate code) noexcept {
  return find_rate([=](const rate_description& candidate) { return candidate.code == code; });
}

}  // namespace detail

/// Returns the rate in Mbit/s; nothing for `unlimited` and for an invalid code.
/// Wraps: ibv_rate_to_mbps(3).
[[nodiscard]] constexpr std::optional<std::uint32_t> megabits_of(rate code) noexcept {
  const auto found = detail::describe(code);
  if (found.megabits == 0) return std::nullopt;
  return found.megabits;
}

/// Returns the rate of exactly `megabits` Mbit/s, if there is one. Wraps: mbps_to_ibv_rate(3).
[[nodiscard]] constexpr std::optional<rate> rate_of_megabits(std::uint32_t megabits) noexcept {
  const auto found =
      detail::find_rate([=](const auto& candidate) { return candidate.megabits == megabits; });
  if (found.megabits == 0) return std::nullopt;
  return found.code;
}

/// Returns the rate as a multiple of 2.5 Gbit/s; nothing if the C library has none for it.
/// Wraps: ibv_rate_to_mult(3).
[[nodiscard]] constexpr std::optional<std::uint32_t> multiple_of(rate code) noexcept {
  const auto found = detail::describe(code);
  if (found.multiple == 0) return std::nullopt;
  return found.multiple;
}

/// Returns the rate that is `multiple` times 2.5 Gbit/s, if there is one.
/// Wraps: mult_to_ibv_rate(3).
[[nodiscard]] constexpr std::optional<rate> rate_of_multiple(std::uint32_t multiple) noexcept {
  if (multiple == 0) return std::nullopt;
  const auto found =
      detail::find_rate([=](const auto& candidate) { return candidate.multiple == multiple; });
  if (found.multiple == 0) return std::nullopt;
  return found.code;
}

/// Formats a rate: "10 Gbit/s", "unlimited".
[[nodiscard]] constexpr static_string<48> to_text(rate code) noexcept {
  if (code == rate::unlimited) return detail::name_or_number("unlimited", 0);
  const auto found = detail::describe(code);
  return detail::name_or_number(found.name, static_cast<std::uint8_t>(code));
}

}  // namespace adverb::inline ADVERB_ABI
