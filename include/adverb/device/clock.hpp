// SPDX-License-Identifier: MIT
// The clock of a device: readings of it, and what they are in time.
#pragma once

#include <cstdint>

#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// A reading of the clock of a device, in its ticks: from `context.device_time()`, or the
/// timestamp of a completion. Only the difference of two means something.
enum class device_ticks : std::uint64_t {};

[[nodiscard]] constexpr static_string<24> to_text(device_ticks ticks) noexcept {
  return detail::decimal_text(static_cast<std::uint64_t>(ticks));
}

/// How fast the clock of a device runs, and where it wraps around: made by
/// `device_attributes::clock()`.
class device_clock {
 public:
  /// A clock of so many kHz (not 0), whose readings have the bits of `mask`; 0 for all.
  constexpr device_clock(std::uint64_t kilohertz, std::uint64_t mask) noexcept
      : kilohertz_{kilohertz}, mask_{mask} {}

  [[nodiscard]] constexpr std::uint64_t kilohertz() const noexcept { return kilohertz_; }

  /// The time from one reading to a later one, rounded up to a `Duration`. The clock may have
  /// wrapped around once in between.
  template <duration_like Duration>
  [[nodiscard]] constexpr Duration elapsed(device_ticks from, device_ticks to) const noexcept {
    const std::uint64_t bits = mask_ == 0 ? ~std::uint64_t{0} : mask_;
    const std::uint64_t ticks =
        (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) & bits;
    // In two steps, because the product of the whole overflows after hours.
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
