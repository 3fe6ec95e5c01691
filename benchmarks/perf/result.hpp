// SPDX-License-Identifier: MIT
// The results of one size.
#pragma once

#include <cstdint>

#include "statistics.hpp"

namespace perf {

struct result {
  /// In bytes.
  std::uint32_t size = 0;
  /// Messages, of all queue pairs together.
  std::uint64_t iterations = 0;
  /// From the first post to the last completion.
  double seconds = 0;
  /// In microseconds; of latencies only.
  latency_summary latency{};
  double cpu_microseconds_per_message = 0;

  [[nodiscard]] double messages_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(iterations) / seconds : 0;
  }
  [[nodiscard]] double bytes_per_second() const noexcept { return messages_per_second() * size; }
};

}  // namespace perf
