// SPDX-License-Identifier: MIT
// A line on the terminal with the progress of the measurement.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <unistd.h>

namespace perf {

/// Nothing at all when the standard error is no terminal.
class progress {
 public:
  progress() = default;
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// At most ten times a second.
  void show(std::uint32_t size, double part) {
    if (!on_terminal_) return;
    const auto now = clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds{100};
    std::fprintf(stderr, "\r%u bytes: %3.0f %%\033[K", size, 100 * std::min(part, 1.0));
    shown_ = true;
  }

  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;

  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  clock::time_point next_{};
};

}  // namespace perf
