// SPDX-License-Identifier: MIT
// A test that cannot be run here says so, and ctest counts it.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program as skipped. For programs in which nothing can be tested.
[[noreturn]] inline void skip(const char* test, const char* reason) {
  std::printf("adverb-skip: %s: %s\n", test, reason);
  std::fflush(stdout);
  std::_Exit(77);
}
