// SPDX-License-Identifier: MIT
// The cases that `judge` runs: some pass, and some are refused.
#include <support/catch.hpp>
#include <support/skip.hpp>

TEST_CASE("asserts") { CHECK(true); }

TEST_CASE("asserts nothing") {}

TEST_CASE("returns before its assertion") {
  const bool lacks_it = true;
  if (lacks_it) return;
  CHECK(false);
}

TEST_CASE("has a section without an assertion") {
  SECTION("full") { CHECK(true); }
  SECTION("empty") {}
}

TEST_CASE("reports a skip") { tell_skip("reports a skip", "no reason"); }

TEST_CASE("skips") { skip("skips", "no reason"); }

TEST_CASE("fails") { CHECK(false); }

namespace {
int run = 0;
}

TEST_CASE("is not alone") { CHECK(++run >= 1); }

TEST_CASE("is alone", "[alone]") { CHECK(++run == 1); }

TEST_CASE("is behind one that is alone") { CHECK(++run == 1); }

TEST_CASE("role: asserts nothing", "[.]") {}

TEST_CASE("hidden and asserts nothing", "[.]") {}
