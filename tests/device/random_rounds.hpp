// SPDX-License-Identifier: MIT
// Rounds that their seeds make.
//
//   ADVERB_RANDOM_SEED=N      runs the round of this seed, and no other
//   ADVERB_RANDOM_SECONDS=N   runs rounds for this long, each with the next seed
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include <support/sanitized.hpp>

namespace random_rounds {

class chance {
 public:
  explicit chance(std::uint32_t seed) : engine_{seed} {}
  /// Returns a number from 0 to `end` - 1.
  [[nodiscard]] std::uint32_t below(std::uint32_t end) {
    return static_cast<std::uint32_t>(engine_() % end);
  }
  [[nodiscard]] bool one_in(std::uint32_t count) { return below(count) == 0; }
  [[nodiscard]] std::uint32_t seed() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

/// A variable of the environment; empty if it is not set.
[[nodiscard]] inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns true if the environment requests rounds for a time: also what the suite leaves out.
[[nodiscard]] inline bool has_time() { return !environment("ADVERB_RANDOM_SECONDS").empty(); }

/// Plays rounds for as long as the environment requests, else a few. May run on any thread. `play`
/// returns what the round of a seed has counted.
template <class Play>
auto play_rounds(const Play& play, std::uint32_t seed, int rounds) {
  if (test_support::is_sanitized) rounds = (rounds + 2) / 3;
  const std::string seconds = environment("ADVERB_RANDOM_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds{std::stoi("0" + seconds)};
  const std::string chosen = environment("ADVERB_RANDOM_SEED");
  if (!chosen.empty()) seed += static_cast<std::uint32_t>(std::stoul(chosen)) - 1;
  if (!chosen.empty() && seconds.empty()) rounds = 1;
  decltype(play(seed)) all;
  int played = 0;
  for (; played < rounds || std::chrono::steady_clock::now() < end; ++played, ++seed) {
    const std::string name = "ADVERB_RANDOM_SEED=" + std::to_string(seed) + "\n";
    if (!seconds.empty()) std::cout << name << std::flush;
    const auto one = play(seed);
    if (!one.is_right()) std::cout << "Not right: " << name << std::flush;
    all += one;
  }
  all.rounds = played;
  return all;
}

}  // namespace random_rounds
