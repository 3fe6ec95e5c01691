// SPDX-License-Identifier: MIT
// Rates: the same numbers as the C library's, for every code and every number.
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <infiniband/verbs.h>

#include <adverb/device/rate.hpp>
#include <support/catch.hpp>

namespace {

using adverb::rate;

/// The C library's -1 for none, as nothing.
std::optional<std::uint32_t> positive(int number) {
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

/// The C library's IBV_RATE_MAX for none, as nothing.
std::optional<rate> limited(ibv_rate code) {
  if (code == IBV_RATE_MAX) return std::nullopt;
  return static_cast<rate>(code);
}

// Every value that fits the enumeration of C, known or not.
constexpr int codes = 32;
constexpr int beyond_all_rates = 1'300'000;

}  // namespace

TEST_CASE("megabits_of matches the C library", "[ibv_rate_to_mbps]") {
  for (int code = 0; code < codes; ++code) {
    CAPTURE(code);
    CHECK(megabits_of(static_cast<rate>(code)) ==
          positive(ibv_rate_to_mbps(static_cast<ibv_rate>(code))));
  }
  CHECK(adverb::megabits_of(rate::unlimited) == std::nullopt);
}

TEST_CASE("multiple_of matches the C library", "[ibv_rate_to_mult]") {
  for (int code = 0; code < codes; ++code) {
    CAPTURE(code);
    CHECK(multiple_of(static_cast<rate>(code)) ==
          positive(ibv_rate_to_mult(static_cast<ibv_rate>(code))));
  }
}

TEST_CASE("rate_of_megabits matches the C library", "[mbps_to_ibv_rate]") {
  int different = 0;
  for (int megabits = 0; megabits < beyond_all_rates; ++megabits)
    if (adverb::rate_of_megabits(static_cast<std::uint32_t>(megabits)) !=
        limited(mbps_to_ibv_rate(megabits)))
      ++different;
  CHECK(different == 0);
  CHECK(adverb::rate_of_megabits(103'125) == rate::gigabits_100);
  CHECK(adverb::rate_of_megabits(100'000) == std::nullopt);
}

TEST_CASE("rate_of_multiple matches the C library", "[mult_to_ibv_rate]") {
  for (int multiple = 0; multiple < 1000; ++multiple) {
    CAPTURE(multiple);
    CHECK(adverb::rate_of_multiple(static_cast<std::uint32_t>(multiple)) ==
          limited(mult_to_ibv_rate(multiple)));
  }
}

TEST_CASE("every rate has a unique name and converts to megabits and back") {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(rate::gigabits_1200); ++code) {
    if (code == 1) continue;  // The one gap in the codes.
    CAPTURE(code);
    const auto each = static_cast<rate>(code);
    CHECK(names.insert(to_string(each)).second);
    if (each != rate::unlimited) CHECK(adverb::rate_of_megabits(*megabits_of(each)) == each);
  }
  CHECK(to_string(rate::unlimited) == "unlimited");
  CHECK(to_string(rate::gigabits_2_5) == "2.5 Gbit/s");
  CHECK(to_string(rate::gigabits_1200) == "1200 Gbit/s");
  CHECK(to_string(rate{1}) == "unknown (1)");
  CHECK(adverb::megabits_of(rate::gigabits_10) == 10'000U);
}
