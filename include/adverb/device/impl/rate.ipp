// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include <adverb/device/rate.hpp>

namespace adverb::inline ADVERB_ABI {

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

ADVERB_FUNC std::optional<std::uint32_t> megabits_of(rate code) noexcept {
  const auto found = detail::describe(code);
  if (found.megabits == 0) return std::nullopt;
  return found.megabits;
}

ADVERB_FUNC std::optional<rate> rate_of_megabits(std::uint32_t megabits) noexcept {
  const auto found =
      detail::find_rate([=](const auto& candidate) { return candidate.megabits == megabits; });
  if (found.megabits == 0) return std::nullopt;
  return found.code;
}

ADVERB_FUNC std::optional<std::uint32_t> multiple_of(rate code) noexcept {
  const auto found = detail::describe(code);
  if (found.multiple == 0) return std::nullopt;
  return found.multiple;
}

ADVERB_FUNC std::optional<rate> rate_of_multiple(std::uint32_t multiple) noexcept {
  if (multiple == 0) return std::nullopt;
  const auto found =
      detail::find_rate([=](const auto& candidate) { return candidate.multiple == multiple; });
  if (found.multiple == 0) return std::nullopt;
  return found.code;
}

ADVERB_FUNC static_string<48> to_text(rate code) noexcept {
  if (code == rate::unlimited) return detail::name_or_number("unlimited", 0);
  const auto found = detail::describe(code);
  return detail::name_or_number(found.name, static_cast<std::uint8_t>(code));
}

}  // namespace adverb::inline ADVERB_ABI
