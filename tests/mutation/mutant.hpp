// SPDX-License-Identifier: MIT
// The switch of the run-time mutants. tests/mutation/run adds this header to its copy of the tree.
#pragma once

#include <cstdlib>
#include <type_traits>

namespace adverb_mutation {

/// Returns the number in the environment variable ADVERB_MUTANT, or 0 without one.
inline int active() noexcept {
  static const int number = [] {
    const char* const text = std::getenv("ADVERB_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return number;
}

/// Returns whether a mutant is active. No mutant is active in constant evaluation.
constexpr bool is_active(int number) noexcept {
  if (std::is_constant_evaluated()) return false;
  return active() == number;
}

}  // namespace adverb_mutation
