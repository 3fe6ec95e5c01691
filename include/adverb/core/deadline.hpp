// SPDX-License-Identifier: MIT
// A point in time until which something is waited for.
#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>

#include <poll.h>
#include <time.h>

#include <adverb/core/durations.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Measured by the monotonic clock. Without one (the default) there is no hurry.
class deadline {
 public:
  deadline() noexcept = default;
  /// In this time from now. What is over a century is for ever.
  template <duration_like Duration>
  explicit deadline(const Duration& timeout) noexcept {
    const double nanoseconds = in_nanoseconds(timeout);
    if (nanoseconds < 3e18)
      end_ = now() + (nanoseconds > 0 ? static_cast<std::int64_t>(nanoseconds) : 0);
  }

  [[nodiscard]] bool passed() const noexcept { return end_ != never && now() >= end_; }

  /// Waits for a file to become readable. False when the time is up before, or a signal handler ran
  /// meanwhile. Without a deadline, reading itself is left to wait.
  [[nodiscard]] bool wait_readable(int file_descriptor) const noexcept {
    if (end_ == never) return true;
    const std::int64_t left = end_ - now();
    timespec timeout{};
    if (left > 0) {
      timeout.tv_sec = left / 1'000'000'000;
      timeout.tv_nsec = left % 1'000'000'000;
    }
    pollfd waited{file_descriptor, POLLIN, 0};
    const int result = ::ppoll(&waited, 1, &timeout, nullptr);
    // Any other failure shows again when the file is read.
    return result > 0 || (result == -1 && errno != EINTR);
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] static std::int64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  std::int64_t end_ = never;
};

}  // namespace adverb::inline ADVERB_ABI::detail
