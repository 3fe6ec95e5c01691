// SPDX-License-Identifier: MIT
// A point in time that ends a wait, asleep or spinning.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns whether a read would return something at once.
[[nodiscard]] inline bool is_readable(int file_descriptor) noexcept {
  pollfd waited{file_descriptor, POLLIN, 0};
  return ::poll(&waited, 1, 0) > 0;
}

/// Makes reads from a descriptor non-blocking or blocking.
inline void set_non_blocking(on_failure policy, int file_descriptor, bool non_blocking,
                             describe_failure describe) {
  check_minus_one(
      policy, "fcntl",
      [&] {
        const int flags = ::fcntl(file_descriptor, F_GETFL);
        if (flags == -1) return -1;
        return ::fcntl(file_descriptor, F_SETFL,
                       non_blocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
      },
      describe);
}

inline constexpr std::string_view woken_by_descriptor =
    "the descriptor of its time limit became readable";

/// The ways in which a wait ends.
enum class wait_end : std::uint8_t {
  readable,
  /// The time is up.
  late,
  /// A signal handler ran.
  interrupted,
  /// The descriptor of the timeout is readable, and nothing else.
  woken,
};

/// A point in time on the monotonic clock. The default never passes.
class deadline {
 public:
  deadline() noexcept = default;
  /// Makes the deadline `limit` from now. The descriptor of `limit` ends waits earlier.
  explicit deadline(const timeout& limit) noexcept : deadline{limit, now()} {
    wake_ = limit.wake_descriptor();
  }
  /// Makes the deadline `timeout` after a reading of the clock.
  template <class Timeout>
  deadline(const Timeout& timeout, std::int64_t start) noexcept {
    if constexpr (check_timeout<Timeout>()) {
      const double nanoseconds = in_nanoseconds(timeout);
      end_ = nanoseconds < 3e18
                 ? start + (nanoseconds > 0 ? static_cast<std::int64_t>(nanoseconds) : 0)
                 : centuries;
    }
  }

  [[nodiscard]] bool passed() const noexcept { return end_ != never && passed(now()); }
  [[nodiscard]] bool passed(std::int64_t time) const noexcept { return time >= end_; }

  /// Waits until a file is readable. Without a deadline it returns at once: the read itself waits.
  [[nodiscard]] wait_end wait_readable(int file_descriptor) const noexcept {
    return end_ == never ? wait_end::readable : wait_either_readable(file_descriptor, -1);
  }
  /// Waits until either of two files is readable, even without a deadline.
  [[nodiscard]] wait_end wait_either_readable(int one, int other) const noexcept;

  /// Returns the current reading of the clock, in nanoseconds.
  [[nodiscard]] static std::int64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  /// Not `never`: with a timeout, however long, a wait must go through poll.
  static constexpr std::int64_t centuries = never - 1;

  std::int64_t end_ = never;
  int wake_ = -1;
};

/// A deadline for a loop that spins. Reading the clock takes longer than a turn of the loop, so it
/// reads the clock about once a microsecond, and at most once a turn. It reports the end late by
/// that microsecond, or by one turn if a turn takes longer, and never by more than 64 turns.
class spin_deadline {
 public:
  /// Makes the deadline `timeout` from now.
  template <class Timeout>
  explicit spin_deadline(const Timeout& timeout) noexcept
      : read_{deadline::now()}, end_{timeout, read_} {}

  /// Returns whether the deadline has passed. Call it once a turn.
  [[nodiscard]] bool passed() noexcept {
    if (--left_ != 0) [[likely]]
      return false;
    const std::int64_t time = deadline::now();
    turns_ = turns_until_next(time - read_);
    left_ = turns_;
    read_ = time;
    return end_.passed(time);
  }

 private:
  static constexpr std::int64_t interval = 1000;
  static constexpr std::int64_t most_turns = 64;

  /// Returns the number of turns until the next clock reading, if the last ones took `elapsed`.
  [[nodiscard]] std::int64_t turns_until_next(std::int64_t elapsed) const noexcept {
    if (turns_ == 0) return 1;
    if (elapsed > interval) return turns_ * interval < elapsed ? 1 : turns_ * interval / elapsed;
    return elapsed < interval / 2 && turns_ < most_turns ? 2 * turns_ : turns_;
  }

  std::int64_t left_ = 1;
  std::int64_t turns_ = 0;
  std::int64_t read_;
  deadline end_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/deadline.ipp>
#endif
