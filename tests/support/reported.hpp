// SPDX-License-Identifier: MIT
// The reports of an operation through each of the error policies.
#pragma once

#include <string>
#include <system_error>

#include <adverb/core/error.hpp>
#include <support/catch.hpp>

/// Calls the operation with each of the three error policies, after `arrange` each time; checks
/// that it fails alike with all of them, and returns the failure.
template <class Arrange, class Operation>
adverb::failure reported(const Arrange& arrange, const Operation& operation) {
  adverb::failure why;
  arrange();
  operation(why);
  REQUIRE(why);

  std::error_code code;
  arrange();
  operation(code);
  CHECK(code == why.code());

  arrange();
  try {
    operation();
    FAIL("nothing was thrown");
  } catch (const adverb::error& thrown) {
    CHECK(thrown.code() == why.code());
    CHECK(std::string{thrown.what()} == why.what());
    CHECK(thrown.failure().verb() == why.verb());
  }
  return why;
}

/// The same where nothing has to be arranged.
template <class Operation>
adverb::failure reported(const Operation& operation) {
  return reported([] {}, operation);
}
