// SPDX-License-Identifier: MIT
// Shared by the tests in which connections or channels end at random: rounds, each made by its
// seed, and what they count.
#pragma once

#include <iostream>
#include <map>
#include <string_view>
#include <utility>

#include "random_rounds.hpp"

namespace random_ends {

using random_rounds::chance;
using random_rounds::play_rounds;

/// The counts of every test.
struct step_tally {
  int rounds = 0;
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
    std::cout << rounds << " rounds, " << started << " steps, " << finished << " finished, "
              << failed << " of them failed, " << dropped << " dropped";
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

}  // namespace random_ends
