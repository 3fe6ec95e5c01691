// SPDX-License-Identifier: MIT
// The delay of a loop that spins, and its number of readings of the clock: by a clock that only the
// test moves.
#include <chrono>
#include <cstdint>
#include <optional>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <adverb/core/detail/deadline.hpp>
#include <support/catch.hpp>

namespace {

using adverb::detail::spin_deadline;
using namespace std::chrono_literals;

/// The time of the clock, in nanoseconds, while a test moves it.
std::optional<std::int64_t> shown;
int readings = 0;

/// Turns until the deadline has passed, with `turn` as the time of each; returns their number.
template <class Turn>
std::int64_t spin(std::chrono::nanoseconds timeout, const Turn& turn) {
  shown = 1'000'000'000;
  readings = 0;
  std::int64_t turns = 0;
  for (spin_deadline deadline{timeout}; !deadline.passed(); ++turns) *shown += turn(turns);
  return turns;
}
std::int64_t spun() { return *shown - 1'000'000'000; }

struct real_clock_afterwards {
  ~real_clock_afterwards() { shown.reset(); }
};

}  // namespace

// In place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!shown) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  ++readings;
  time->tv_sec = *shown / 1'000'000'000;
  time->tv_nsec = *shown % 1'000'000'000;
  return 0;
}

TEST_CASE(
    "A spinning loop reads the clock about once a microsecond and overruns by about as much") {
  const real_clock_afterwards restore;
  for (const std::int64_t cost : {16, 30, 100, 400, 700}) {
    spin(1ms, [&](auto) { return cost; });
    CHECK(spun() >= 1'000'000);
    CHECK(spun() < 1'002'000);
    CHECK(readings > 500);
    CHECK(readings < 2200);
  }
}

TEST_CASE("A loop with very short turns reads the clock once in 64 turns") {
  const real_clock_afterwards restore;
  const std::int64_t turns = spin(1ms, [](auto) { return 1; });
  CHECK(turns >= 1'000'000);
  CHECK(turns <= 1'000'064);
  CHECK(readings < turns / 64 + 10);
}

TEST_CASE("A loop with slow turns overruns by at most one turn") {
  const real_clock_afterwards restore;
  CHECK(spin(1ms, [](auto) { return 50'000; }) == 20);
  CHECK(spin(1ms, [](auto) { return 300'000; }) == 4);
  CHECK(spin(1ms, [](auto) { return 5'000'000; }) == 1);
}

TEST_CASE("A loop whose turns become slow overruns by at most 64 turns, and only once") {
  const real_clock_afterwards restore;
  // Fast for 900 us, then slow.
  spin(1ms, [](auto) { return *shown < 1'000'900'000 ? 10 : 5'000; });
  CHECK(spun() < 1'000'000 + 64 * 5'000);
  spin(10ms, [](auto) { return *shown < 1'000'900'000 ? 10 : 5'000; });
  CHECK(spun() <= 10'005'000);
}

TEST_CASE("A loop whose turns become fast again reads the clock rarely again") {
  const real_clock_afterwards restore;
  spin(2ms, [](auto) { return *shown < 1'001'000'000 ? 10'000 : 10; });
  CHECK(spun() < 2'002'000);
  // Once a turn for the first millisecond, then once a microsecond.
  CHECK(readings < 100 + 2200);
}

TEST_CASE(
    "A timeout of zero passes before the first turn, and a timeout of a century never passes") {
  const real_clock_afterwards restore;
  CHECK(spin(0ns, [](auto) { return 1; }) == 0);
  CHECK(spin(-5ms, [](auto) { return 1; }) == 0);
  shown = 0;
  spin_deadline never{std::chrono::duration<double>{1e300}};
  shown = INT64_C(4'000'000'000'000'000'000);
  CHECK_FALSE(never.passed());
}
