// SPDX-License-Identifier: MIT
// A test that cannot be run here reports this, and ctest counts it.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

#include <support/catch.hpp>

/// Reports, in a form that tests/run counts, what cannot be tested here. The test may assert
/// nothing else.
inline void tell_skip(std::string_view test, std::string_view reason) {
  std::cout << "adverb-skip: " << test << ": " << reason << std::endl;
  SUCCEED();
}

/// Ends the program, which runs one test case, as skipped.
[[noreturn]] inline void skip(std::string_view test, std::string_view reason) {
  tell_skip(test, reason);
  std::_Exit(77);
}
