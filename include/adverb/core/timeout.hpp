// SPDX-License-Identifier: MIT
// How long to wait, as a value that options can hold.
#pragma once

#include <cstdint>
#include <limits>

#include <adverb/core/durations.hpp>

namespace adverb::inline ADVERB_ABI {

/// How long to wait at most. Any std::chrono duration converts; what is below zero is zero, and
/// what is over two centuries is for ever.
class timeout {
 public:
  // The shape of a duration, so that whatever takes one takes this too.
  using rep = std::int64_t;
  struct period {
    static constexpr std::intmax_t num = 1;
    static constexpr std::intmax_t den = 1'000'000'000;
  };

  template <duration_like Duration>
  constexpr timeout(const Duration& duration) noexcept
      : nanoseconds_{in_range(detail::in_nanoseconds(duration))} {}

  [[nodiscard]] static constexpr timeout endless() noexcept { return timeout{no_end}; }
  [[nodiscard]] static constexpr timeout seconds(std::int32_t count) noexcept {
    return timeout{count * std::int64_t{1'000'000'000}};
  }

  [[nodiscard]] constexpr bool is_endless() const noexcept { return nanoseconds_ == no_end; }
  /// In nanoseconds.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return nanoseconds_; }
  /// In milliseconds for the C API: rounded up, at least 1 and at most 24 days.
  [[nodiscard]] constexpr int milliseconds() const noexcept {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t count = nanoseconds_ / 1'000'000 + (nanoseconds_ % 1'000'000 != 0 ? 1 : 0);
    return static_cast<int>(count < 1 ? 1 : count > most ? most : count);
  }

  /// Both one after the other.
  friend constexpr timeout operator+(timeout left, timeout right) noexcept {
    if (left.nanoseconds_ > no_end - right.nanoseconds_) return endless();
    return timeout{left.nanoseconds_ + right.nanoseconds_};
  }
  friend constexpr bool operator==(timeout, timeout) noexcept = default;
  friend constexpr text<32> to_text(timeout limit) noexcept {
    if (limit.is_endless()) return text<32>{[](text_writer& writer) { writer.put("endless"); }};
    return detail::duration_text(static_cast<std::uint64_t>(limit.nanoseconds_));
  }

 private:
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

  constexpr explicit timeout(std::int64_t nanoseconds) noexcept
      : nanoseconds_{nanoseconds < 0 ? 0 : nanoseconds} {}

  [[nodiscard]] static constexpr std::int64_t in_range(double nanoseconds) noexcept {
    if (nanoseconds <= 0) return 0;
    return nanoseconds < 6.3e18 ? static_cast<std::int64_t>(nanoseconds) : no_end;
  }

  std::int64_t nanoseconds_;
};

}  // namespace adverb::inline ADVERB_ABI
