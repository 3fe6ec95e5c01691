// SPDX-License-Identifier: MIT
// The number of operations of one size, and their chunks: the clock, the progress line and Ctrl-C
// are handled between two chunks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "interruption.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace perf {

class pace {
 public:
  /// Chunks are multiples of `step`, but for the last one.
  pace(const options& wanted, std::uint32_t size, std::uint32_t step, progress& line)
      : size_{size},
        step_{step},
        iterations_{wanted.duration == 0 ? *wanted.iterations : 0},
        duration_{wanted.duration},
        line_{&line} {}

  /// The number that can be known in advance; 0 when time decides.
  [[nodiscard]] std::uint64_t total() const noexcept { return iterations_; }

  /// Returns the number of the next operations, after `done` of them; 0 at the end.
  [[nodiscard]] std::uint64_t next(std::uint64_t done) {
    if (interruption::requested()) return 0;
    const auto now = clock::now();
    const std::chrono::duration<double> passed = now - start_;
    if (iterations_ == 0 ? passed >= duration_ : done >= iterations_) return 0;
    line_->show(size_, iterations_ == 0
                           ? passed / duration_
                           : static_cast<double>(done) / static_cast<double>(iterations_));
    if (now - last_ < std::chrono::milliseconds{10}) chunk_ *= 2;
    last_ = now;
    const std::uint64_t rounded = (chunk_ + step_ - 1) / step_ * step_;
    return iterations_ == 0 ? rounded : std::min(rounded, iterations_ - done);
  }

 private:
  using clock = std::chrono::steady_clock;

  std::uint32_t size_;
  std::uint32_t step_;
  std::uint64_t iterations_;
  std::chrono::duration<double> duration_;
  progress* line_;
  std::uint64_t chunk_ = 1;
  clock::time_point start_ = clock::now();
  clock::time_point last_ = start_;
};

}  // namespace perf
