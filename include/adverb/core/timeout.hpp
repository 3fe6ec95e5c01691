// SPDX-License-Identifier: MIT
// The maximum time that a call blocks, as a value that options can hold.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <adverb/core/durations.hpp>

namespace adverb::inline ADVERB_ABI {

/// The maximum time that a call blocks, and an optional file descriptor that ends the wait earlier.
/// Converts from any std::chrono duration. A negative duration becomes zero. A duration of more
/// than two centuries never expires.
///
///     connection.wait(queue, batch, 10ms);
///     connection.wait(queue, batch, timeout::endless().woken_by(descriptor));
class timeout {
 public:
  // The shape of a duration: a timeout is accepted wherever a duration is.
  /// The type of the count, as in a duration.
  using rep = std::int64_t;
  /// The unit of the count, as in a duration: a nanosecond.
  struct period {
    /// The numerator of the unit.
    static constexpr std::intmax_t num = 1;
    /// The denominator of the unit.
    static constexpr std::intmax_t den = 1'000'000'000;
  };

  template <duration_like Duration>
  constexpr timeout(const Duration& duration) noexcept
      : nanoseconds_{in_range(detail::in_nanoseconds(duration))} {}
  /// Fails to compile: a number has no unit.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  constexpr timeout(Number) noexcept {
    static_cast<void>(detail::check_timeout<Number>());
  }

  /// Returns the timeout that never expires.
  [[nodiscard]] static constexpr timeout endless() noexcept { return timeout{exactly{no_end}}; }

  /// Returns the same timeout, except that the wait also ends when the descriptor becomes readable.
  /// Nothing reads from the descriptor. Use an eventfd, a signalfd, a pipe, or the descriptor of a
  /// `stop_event`.
  [[nodiscard]] constexpr timeout woken_by(int file_descriptor) const noexcept {
    timeout result = *this;
    result.wake_ = file_descriptor;
    return result;
  }

  /// Returns true if it never expires.
  [[nodiscard]] constexpr bool is_endless() const noexcept { return nanoseconds_ == no_end; }
  /// Returns the time in nanoseconds.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return nanoseconds_; }
  /// Returns the time in milliseconds for the C API: rounded up, at least 1 and at most 24 days.
  [[nodiscard]] constexpr int in_milliseconds() const noexcept {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t count = nanoseconds_ / 1'000'000 + (nanoseconds_ % 1'000'000 != 0 ? 1 : 0);
    return static_cast<int>(count < 1 ? 1 : count > most ? most : count);
  }
  /// Returns the descriptor that ends the wait, or -1.
  [[nodiscard]] constexpr int wake_descriptor() const noexcept { return wake_; }

  /// Returns the sum of both times, with the descriptor of `left`.
  friend constexpr timeout operator+(timeout left, timeout right) noexcept {
    const bool ends = left.nanoseconds_ <= no_end - right.nanoseconds_;
    left.nanoseconds_ = ends ? left.nanoseconds_ + right.nanoseconds_ : no_end;
    return left;
  }
  friend constexpr bool operator==(timeout, timeout) noexcept = default;
  friend constexpr static_string<32> to_text(timeout limit) noexcept {
    if (limit.is_endless())
      return static_string<32>{[](text_writer& writer) { writer.put("endless"); }};
    return detail::duration_text(static_cast<std::uint64_t>(limit.nanoseconds_));
  }

 private:
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

  struct exactly {
    std::int64_t nanoseconds;
  };
  constexpr explicit timeout(exactly time) noexcept : nanoseconds_{time.nanoseconds} {}

  [[nodiscard]] static constexpr std::int64_t in_range(double nanoseconds) noexcept {
    if (nanoseconds <= 0) return 0;
    return nanoseconds < 6.3e18 ? static_cast<std::int64_t>(nanoseconds) : no_end;
  }

  std::int64_t nanoseconds_;
  int wake_ = -1;
};

namespace detail {

/// A duration, for the defaults of the library, without `<chrono>`.
template <std::intmax_t UnitsOfSecond>
struct default_duration {
  using rep = std::int64_t;
  struct period {
    static constexpr std::intmax_t num = 1;
    static constexpr std::intmax_t den = UnitsOfSecond;
  };
  rep value;
  [[nodiscard]] constexpr rep count() const noexcept { return value; }
};
using seconds = default_duration<1>;

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
