// SPDX-License-Identifier: MIT
// Stamps that cost a few cycles to take.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace perf {

/// The counter of the processor where it is known how to read it, else the steady clock.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// The length of a tick, measured from the construction until the call.
class tick_length {
 public:
  [[nodiscard]] double in_microseconds() const noexcept {
    using namespace std::chrono_literals;
    clock::time_point now = clock::now();
    while (now - clock_start_ < 20ms) now = clock::now();
    const std::uint64_t passed = ticks() - tick_start_;
    return std::chrono::duration<double, std::micro>{now - clock_start_}.count() /
           static_cast<double>(passed);
  }

 private:
  using clock = std::chrono::steady_clock;

  clock::time_point clock_start_ = clock::now();
  std::uint64_t tick_start_ = ticks();
};

}  // namespace perf
