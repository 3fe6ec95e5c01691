// SPDX-License-Identifier: MIT
// The clock of a device: readings, and their conversion to time.
#pragma once

#include <cstdint>

#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// A reading of a device's clock, in ticks: from `context.device_time()`, or the timestamp of a
/// completion. Only the difference of two readings has a meaning.
enum class device_ticks : std::uint64_t {};

[[nodiscard]] constexpr static_string<24> to_text(device_ticks ticks) noexcept {
  return detail::decimal_text(static_cast<std::uint64_t>(ticks));
}

/// The frequency of a device's clock, and the mask at which it wraps around. Returned by
/// `device_attributes::clock()`.
class device_clock {
 public:
  /// Makes a clock of `kilohertz` kHz (not 0), whose readings have the bits of `mask`; 0 for all
  /// bits.
  constexpr device_clock(std::uint64_t kilohertz, std::uint64_t mask) noexcept
      : kilohertz_{kilohertz}, mask_{mask} {}

  [[nodiscard]] constexpr std::uint64_t kilohertz() const noexcept { return kilohertz_; }

  /// Returns the time from one reading to a later one, rounded up to a `Duration`. The clock may
  /// wrap around once in between.
  template <duration_like Duration>
  [[nodiscard]] constexpr Duration elapsed(device_ticks from, device_ticks to) const noexcept {
    const std::uint64_t bits = mask_ == 0 ? ~std::uint64_t{0} : mask_;
    const std::uint64_t ticks =
        (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) & bits;
    // In two steps, because the full product overflows after hours.
    const std::uint64_t nanoseconds =
        ticks / kilohertz_ * 1'000'000 + ticks % kilohertz_ * 1'000'000 / kilohertz_;
    return detail::round_up<Duration>(nanoseconds);
  }

  friend constexpr bool operator==(const device_clock&, const device_clock&) noexcept = default;

 private:
  std::uint64_t kilohertz_;
  std::uint64_t mask_;
};

}  // namespace adverb::inline ADVERB_ABI
