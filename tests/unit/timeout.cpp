// SPDX-License-Identifier: MIT
// Timeouts: any duration, and the milliseconds of the C API.
#include <chrono>
#include <limits>

#include <adverb/core/timeout.hpp>
#include <support/catch.hpp>

using namespace adverb;
using namespace std::chrono_literals;

TEST_CASE("A timeout is constructible from any duration") {
  CHECK(timeout{1500us}.count() == 1'500'000);
  CHECK(timeout{2min} == timeout{120s});
  CHECK(timeout{std::chrono::duration<double>{0.25}} == timeout{250ms});
  CHECK(timeout{3s}.wake_descriptor() == -1);
}

TEST_CASE("A negative timeout becomes zero and a timeout over two centuries endless") {
  CHECK(timeout{-1s} == timeout{0s});
  CHECK(timeout{std::chrono::hours::max()}.is_endless());
  CHECK_FALSE(timeout{std::chrono::hours{24 * 365 * 100}}.is_endless());
  CHECK(timeout::endless().is_endless());
  CHECK_FALSE(timeout{1s}.is_endless());
}

TEST_CASE("in_milliseconds rounds up and returns 1 to INT_MAX") {
  CHECK(timeout{0s}.in_milliseconds() == 1);
  CHECK(timeout{1ns}.in_milliseconds() == 1);
  CHECK(timeout{1ms}.in_milliseconds() == 1);
  CHECK(timeout{1'000'001ns}.in_milliseconds() == 2);
  CHECK(timeout{2s}.in_milliseconds() == 2000);
  CHECK(timeout::endless().in_milliseconds() == std::numeric_limits<int>::max());
  CHECK(timeout{std::chrono::hours{24 * 30}}.in_milliseconds() == std::numeric_limits<int>::max());
}

TEST_CASE("A negative timeout has a count of 0") { CHECK(timeout{-1s}.count() == 0); }

TEST_CASE("operator+ adds two timeouts and is endless if the sum is too large") {
  CHECK(timeout{1s} + timeout{500ms} == timeout{1500ms});
  CHECK((timeout::endless() + timeout{1ns}).is_endless());
  CHECK((timeout{1ns} + timeout::endless()).is_endless());
  const timeout century{std::chrono::hours{24 * 365 * 199}};
  CHECK((century + century).is_endless());
}

TEST_CASE("A timeout keeps its wake descriptor") {
  const timeout woken = timeout{1s}.woken_by(7);
  CHECK(woken.wake_descriptor() == 7);
  CHECK(woken.count() == timeout{1s}.count());
  CHECK((woken + timeout{1s}).wake_descriptor() == 7);
  CHECK(timeout::endless().woken_by(7).is_endless());
}

TEST_CASE("to_string writes a timeout with its unit") {
  CHECK(to_string(timeout{2s}) == "2 s");
  CHECK(to_string(timeout{300ms}) == "300 ms");
  CHECK(to_string(timeout::endless()) == "endless");
}
