// SPDX-License-Identifier: MIT
// The two timers of a reliable queue pair, as durations instead of 5-bit codes.
//
// Any std::chrono duration converts. This header recognises a duration by its shape and does not
// include <chrono>, which is slow to compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// A type with the shape of std::chrono::duration.
template <class T>
concept duration_like = requires(const T& duration) {
  typename T::rep;
  typename T::period;
  duration.count();
  T::period::num;
  T::period::den;
};

namespace detail {

/// Returns true if `Timeout` is a duration; otherwise compilation fails with an explanation.
template <class Timeout>
consteval bool check_timeout() noexcept {
  constexpr bool has_unit = duration_like<Timeout>;
  static_assert(has_unit,
                "a timeout is a duration, which has a unit: std::chrono::milliseconds{100}");
  return has_unit;
}

template <duration_like Duration>
[[nodiscard]] constexpr double in_nanoseconds(const Duration& duration) noexcept {
  using period = typename Duration::period;
  return static_cast<double>(duration.count()) *
         (static_cast<double>(period::num) * (1e9 / static_cast<double>(period::den)));
}

/// Returns the shortest `Duration` that is not shorter than `nanoseconds`; the nearest one if
/// `Duration` has fractions.
template <duration_like Duration>
[[nodiscard]] constexpr Duration round_up(std::uint64_t nanoseconds) noexcept {
  using rep = typename Duration::rep;
  auto count = static_cast<rep>(static_cast<double>(nanoseconds) / in_nanoseconds(Duration{1}));
  if constexpr (!std::is_floating_point_v<rep>)
    if (in_nanoseconds(Duration{count}) < static_cast<double>(nanoseconds)) ++count;
  return Duration{count};
}

/// Formats a duration: "8.192 us", "163.84 ms". At most three decimals, no trailing zeros.
constexpr static_string<32> duration_text(std::uint64_t nanoseconds) noexcept {
  struct scale {
    std::uint64_t nanoseconds;
    std::string_view name;
  };
  constexpr std::array scales{scale{1'000'000'000, " s"}, scale{1'000'000, " ms"},
                              scale{1'000, " us"}};
  scale unit = scales.back();
  for (const scale& candidate : scales) {
    if (nanoseconds < candidate.nanoseconds) continue;
    unit = candidate;
    break;
  }
  return static_string<32>{[&](text_writer& writer) {
    writer.decimal(nanoseconds / unit.nanoseconds);
    std::uint64_t thousandths = nanoseconds % unit.nanoseconds * 1000 / unit.nanoseconds;
    std::uint64_t place = 100;
    if (thousandths != 0) writer.put(".");
    while (thousandths != 0) {
      writer.decimal(thousandths / place);
      thousandths %= place;
      place /= 10;
    }
    writer.put(unit.name);
  }};
}

}  // namespace detail

/// The time that a requester waits for an acknowledgement before it retransmits: 4.096 us * 2^code,
/// code 1 to 31. A duration is rounded up to the next such time; one beyond the last (2.4 hours)
/// becomes the last. Code 0 waits forever. No duration converts to it: use `endless()`.
class acknowledge_timeout {
 public:
  /// Rounds the duration up to the next time that the device has.
  template <duration_like Duration>
  constexpr acknowledge_timeout(const Duration& duration) noexcept
      : code_{code_for(detail::in_nanoseconds(duration))} {}

  /// Returns the timeout that waits forever.
  [[nodiscard]] static constexpr acknowledge_timeout endless() noexcept {
    return acknowledge_timeout{std::uint8_t{0}};
  }
  /// Makes a timeout from the 5-bit code of the C API. Code 0 waits forever.
  [[nodiscard]] static constexpr acknowledge_timeout from_code(std::uint8_t code) noexcept {
    return acknowledge_timeout{static_cast<std::uint8_t>(code & 31U)};
  }

  /// Returns the code of the C API (5 bits).
  [[nodiscard]] constexpr std::uint8_t code() const noexcept { return code_; }
  /// Returns true if it waits forever.
  [[nodiscard]] constexpr bool is_endless() const noexcept { return code_ == 0; }

  /// Returns the time that the hardware really waits, rounded up to a `Duration`; zero if endless.
  template <duration_like Duration>
  [[nodiscard]] constexpr Duration as() const noexcept {
    return detail::round_up<Duration>(is_endless() ? 0 : nanoseconds(code_));
  }

  friend constexpr bool operator==(acknowledge_timeout, acknowledge_timeout) noexcept = default;
  friend constexpr static_string<32> to_text(acknowledge_timeout timeout) noexcept {
    if (timeout.is_endless())
      return static_string<32>{[](text_writer& writer) { writer.put("endless"); }};
    return detail::duration_text(nanoseconds(timeout.code_));
  }

 private:
  constexpr explicit acknowledge_timeout(std::uint8_t code) noexcept : code_{code} {}

  static constexpr std::uint64_t nanoseconds(std::uint8_t code) noexcept {
    return std::uint64_t{4096} << code;
  }
  static constexpr std::uint8_t code_for(double wanted) noexcept {
    std::uint8_t code = 1;
    while (code < 31 && static_cast<double>(nanoseconds(code)) < wanted) ++code;
    return code;
  }

  std::uint8_t code_;
};

/// The receiver-not-ready (RNR) NAK timer: the time for which a responder without a posted receive
/// makes the requester wait. It is one of 32 times from 10 us to 655.36 ms. A duration is rounded
/// up to the next such time; one beyond the last becomes the last.
class rnr_timer {
 public:
  /// Rounds the duration up to the next time that the device has.
  template <duration_like Duration>
  constexpr rnr_timer(const Duration& duration) noexcept
      : code_{code_for(detail::in_nanoseconds(duration))} {}

  /// Makes a timer from the 5-bit code of the C API. Code 0 is the longest time, 655.36 ms.
  [[nodiscard]] static constexpr rnr_timer from_code(std::uint8_t code) noexcept {
    return rnr_timer{static_cast<std::uint8_t>(code & 31U)};
  }

  /// Returns the code of the C API (5 bits).
  [[nodiscard]] constexpr std::uint8_t code() const noexcept { return code_; }

  /// Returns the time that the hardware really uses, rounded up to a `Duration`.
  template <duration_like Duration>
  [[nodiscard]] constexpr Duration as() const noexcept {
    return detail::round_up<Duration>(nanoseconds(code_));
  }

  friend constexpr bool operator==(rnr_timer, rnr_timer) noexcept = default;
  friend constexpr static_string<32> to_text(rnr_timer timer) noexcept {
    return detail::duration_text(nanoseconds(timer.code_));
  }

 private:
  constexpr explicit rnr_timer(std::uint8_t code) noexcept : code_{code} {}

  static constexpr std::uint64_t nanoseconds(std::uint8_t code) noexcept {
    // In units of 10 us, by code (InfiniBand specification, "Encoding for RNR NAK Timer Field").
    constexpr std::array<std::uint32_t, 32> tens_of_microseconds{
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return std::uint64_t{tens_of_microseconds[code]} * 10'000;
  }
  static constexpr std::uint8_t code_for(double wanted) noexcept {
    for (std::uint8_t code = 1; code < 32; ++code)
      if (static_cast<double>(nanoseconds(code)) >= wanted) return code;
    return 0;
  }

  std::uint8_t code_;
};

}  // namespace adverb::inline ADVERB_ABI
