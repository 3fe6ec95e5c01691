// SPDX-License-Identifier: MIT
// The statistics that adverb_perf reports of its times, compared with those found by counting.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "perf/statistics.hpp"
#include "support/catch.hpp"

namespace {

/// The smallest value that is not below so many ten-thousandths of them, found one by one.
std::uint64_t percentile_by_counting(const std::vector<std::uint64_t>& values,
                                     std::size_t ten_thousandths) {
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (const std::uint64_t candidate : sorted) {
    const auto covered = static_cast<std::size_t>(
        std::count_if(sorted.begin(), sorted.end(), [&](auto each) { return each <= candidate; }));
    if (covered * 10000 >= values.size() * ten_thousandths) return candidate;
  }
  return sorted.back();
}

std::vector<std::uint64_t> random_values(std::size_t count) {
  std::mt19937_64 generator{count};
  std::uniform_int_distribution<std::uint64_t> distribution{1, 5000};
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& each : values) each = distribution(generator);
  return values;
}

}  // namespace

TEST_CASE("percentiles are those that counting finds") {
  for (const std::size_t count : {1, 2, 3, 9, 10, 11, 99, 100, 101, 999, 1000, 1001}) {
    const std::vector<std::uint64_t> values = random_values(count);
    std::vector<std::uint64_t> measured = values;
    const perf::latency_summary found = perf::summarize(measured, 1);
    CAPTURE(count);
    const auto at = [&](std::size_t ten_thousandths) {
      return static_cast<double>(percentile_by_counting(values, ten_thousandths));
    };
    CHECK(found.min == static_cast<double>(*std::min_element(values.begin(), values.end())));
    CHECK(found.p90 == at(9000));
    CHECK(found.p99 == at(9900));
    CHECK(found.p99_9 == at(9990));
    CHECK(found.p99_99 == at(9999));
    CHECK(found.max == static_cast<double>(*std::max_element(values.begin(), values.end())));
  }
}

TEST_CASE("one value out of ten thousand is beyond the last percentile, two are not") {
  std::vector<std::uint64_t> values(10000, 1);
  values[17] = 99;
  CHECK(perf::summarize(values, 1).p99_99 == 1);
  values[0] = 99;  // It was sorted: the other one is the last now.
  CHECK(perf::summarize(values, 1).p99_99 == 99);
}

TEST_CASE("the median is in the middle, or between the two that are there") {
  std::vector<std::uint64_t> odd{9, 1, 4};
  CHECK(perf::summarize(odd, 1).median == 4);
  std::vector<std::uint64_t> even{9, 1, 4, 5};
  CHECK(perf::summarize(even, 1).median == 4.5);
  std::vector<std::uint64_t> one{3};
  CHECK(perf::summarize(one, 1).median == 3);
}

TEST_CASE("all statistics are in the requested unit") {
  std::vector<std::uint64_t> values{10, 20, 30, 40};
  const perf::latency_summary found = perf::summarize(values, 0.5);
  CHECK(found.min == 5);
  CHECK(found.median == 12.5);
  CHECK(found.average == 12.5);
  CHECK(found.p99 == 20);
  CHECK(found.max == 20);
}

TEST_CASE("the statistics of no values are zero") {
  std::vector<std::uint64_t> none;
  CHECK(perf::summarize(none, 1).max == 0);
}
