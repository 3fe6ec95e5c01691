// SPDX-License-Identifier: MIT
// Shared by the tests in which connections or channels end at random: rounds, each made by its
// seed, and what they count.
//
//   ADVERB_ENDS_SEED=N      runs the round of this seed, and no other
//   ADVERB_ENDS_SECONDS=N   runs rounds for this long, each with the next seed
#pragma once

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "cm/support.hpp"

namespace random_ends {

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

/// The counts of every test.
struct step_tally {
  int started = 0;
  int finished = 0;
  /// Steps whose frame was destroyed.
  int dropped = 0;
  int failed = 0;
  int finished_again = 0;
  /// Things that the loop has left when it has nothing to do.
  int left_behind = 0;
  /// Blocks that were changed after they had been given back.
  int changed_blocks = 0;
  /// The number of times that each kind of end was chosen.
  std::map<std::string_view, int> ends;

  [[nodiscard]] bool is_right() const { return finished_again + left_behind + changed_blocks == 0; }
  step_tally& operator+=(const step_tally& other) {
    started += other.started;
    finished += other.finished;
    dropped += other.dropped;
    failed += other.failed;
    finished_again += other.finished_again;
    left_behind += other.left_behind;
    changed_blocks += other.changed_blocks;
    for (const auto& [kind, count] : other.ends) ends[kind] += count;
    return *this;
  }
  void print() const {
    std::cout << started << " steps, " << finished << " finished, " << failed << " of them failed, "
              << dropped << " dropped";
    for (const auto& [kind, count] : ends) std::cout << ", " << kind << ' ' << count;
    std::cout << std::endl;
  }
};

/// A step in progress.
class in_progress {
 public:
  explicit in_progress(step_tally& in) : tally_{&in} { ++tally_->started; }
  in_progress(const in_progress&) = delete;
  in_progress& operator=(const in_progress&) = delete;
  ~in_progress() {
    if (!is_done_) ++tally_->dropped;
  }
  void finish() { ++(std::exchange(is_done_, true) ? tally_->finished_again : tally_->finished); }

 private:
  step_tally* tally_;
  bool is_done_ = false;
};

/// Calls a function at its end.
template <class Function>
class finally {
 public:
  explicit finally(Function function) : function_{std::move(function)} {}
  finally(const finally&) = delete;
  finally& operator=(const finally&) = delete;
  ~finally() { function_(); }

 private:
  Function function_;
};

/// Plays rounds for as long as the environment requests, else a few. May run on any thread. `play`
/// returns what the round of a seed has counted.
template <class Play>
auto play_rounds(const Play& play, std::uint32_t seed, int rounds) {
  const std::string seconds = cm_test::environment("ADVERB_ENDS_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds{std::stoi("0" + seconds)};
  const std::string chosen = cm_test::environment("ADVERB_ENDS_SEED");
  if (!chosen.empty()) seed += static_cast<std::uint32_t>(std::stoul(chosen)) - 1;
  if (!chosen.empty() && seconds.empty()) rounds = 1;
  decltype(play(seed)) all;
  int played = 0;
  for (; played < rounds || std::chrono::steady_clock::now() < end; ++played, ++seed) {
    const std::string name = "ADVERB_ENDS_SEED=" + std::to_string(seed) + "\n";
    if (!seconds.empty()) std::cout << name << std::flush;
    const auto one = play(seed);
    if (!one.is_right()) std::cout << "Not right: " << name << std::flush;
    all += one;
  }
  all.ends["rounds"] = played;
  return all;
}

}  // namespace random_ends
