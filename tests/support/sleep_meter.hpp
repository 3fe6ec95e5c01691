// SPDX-License-Identifier: MIT
// Measures the sleep of a thread: the time that passed less its processor time. A busy machine
// delays a thread, which does not look as if it had polled. A virtual machine that is delayed while
// the thread runs counts that as processor time, so `best_sleep` looks more than once.
#pragma once

#include <chrono>
#include <ctime>

class sleep_meter {
 public:
  /// The time since construction in which the calling thread, which constructed the meter, did not
  /// run.
  [[nodiscard]] std::chrono::nanoseconds slept() const {
    return std::chrono::steady_clock::now() - began_ - (processor_time() - processor_began_);
  }

 private:
  static std::chrono::nanoseconds processor_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
  }

  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds processor_began_ = processor_time();
};

/// Calls `run`, which returns for how long a thread slept, until that is at least `enough`, and at
/// most five times. Returns the last result.
template <class Run>
std::chrono::nanoseconds best_sleep(std::chrono::nanoseconds enough, const Run& run) {
  std::chrono::nanoseconds slept{};
  for (int runs = 0; runs < 5 && slept < enough; ++runs) slept = run();
  return slept;
}
