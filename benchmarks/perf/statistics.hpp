// SPDX-License-Identifier: MIT
// The summary of many measured times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace perf {

/// The smallest value that at least so many ten-thousandths of all values do not exceed (the
/// nearest rank). `sorted` is not empty.
[[nodiscard]] inline double percentile(std::span<const std::uint64_t> sorted,
                                       std::size_t ten_thousandths) {
  const std::size_t rank = (sorted.size() * ten_thousandths + 9999) / 10000;
  return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]);
}

/// The value in the middle, or between the two that are there. `sorted` is not empty.
[[nodiscard]] inline double median(std::span<const std::uint64_t> sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 != 0) return static_cast<double>(sorted[middle]);
  return (static_cast<double>(sorted[middle - 1]) + static_cast<double>(sorted[middle])) / 2;
}

struct latency_summary {
  double min = 0;
  double median = 0;
  double average = 0;
  double p90 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double p99_99 = 0;
  double max = 0;
};

/// Sorts the values, and scales each by `unit`. All zero when there are none.
[[nodiscard]] inline latency_summary summarize(std::span<std::uint64_t> values, double unit) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0, [](double all, auto each) {
    return all + static_cast<double>(each);
  });
  return {.min = static_cast<double>(values.front()) * unit,
          .median = median(values) * unit,
          .average = sum / static_cast<double>(values.size()) * unit,
          .p90 = percentile(values, 9000) * unit,
          .p99 = percentile(values, 9900) * unit,
          .p99_9 = percentile(values, 9990) * unit,
          .p99_99 = percentile(values, 9999) * unit,
          .max = static_cast<double>(values.back()) * unit};
}

}  // namespace perf
