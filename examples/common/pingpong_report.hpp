// SPDX-License-Identifier: MIT
// Prints the rate of the exchanged messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace examples {

class pingpong_clock {
 public:
  void report(std::uint32_t size, std::uint32_t iterations) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const double seconds = elapsed.count();
    const double bytes = 2.0 * size * iterations;
    std::printf("%.0f bytes in %.2f seconds = %.2f Mbit/s\n", bytes, seconds,
                8e-6 * bytes / seconds);
    std::printf("%u iters in %.2f seconds = %.2f usec/iter\n", iterations, seconds,
                1e6 * seconds / iterations);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace examples
