// SPDX-License-Identifier: MIT
// Waiting until a point in time.
#include <chrono>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <adverb/core/detail/deadline.hpp>
#include <support/catch.hpp>

namespace {

using adverb::timeout;
using adverb::detail::deadline;
using adverb::detail::wait_end;
using namespace std::chrono_literals;

struct pipe_ends {
  pipe_ends() { REQUIRE(::pipe(ends) == 0); }
  ~pipe_ends() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;

  int ends[2];
};

}  // namespace

TEST_CASE("a deadline passes at its time, and a default-constructed deadline never passes") {
  CHECK(deadline{0ns}.passed());
  CHECK(deadline{-1h}.passed());
  CHECK_FALSE(deadline{1h}.passed());
  CHECK_FALSE(deadline{}.passed());
  CHECK_FALSE(deadline{std::chrono::duration<double>{1e300}}.passed());
  const deadline soon{5ms};
  const auto start = std::chrono::steady_clock::now();
  while (!soon.passed()) {
  }
  CHECK(std::chrono::steady_clock::now() - start >= 4ms);
}

TEST_CASE("wait_readable waits until the deadline if the file does not become readable") {
  const pipe_ends silent;
  const auto start = std::chrono::steady_clock::now();
  CHECK(deadline{15ms}.wait_readable(silent.ends[0]) == wait_end::late);
  CHECK(std::chrono::steady_clock::now() - start >= 15ms);
  CHECK(deadline{0ms}.wait_readable(silent.ends[0]) == wait_end::late);
  CHECK(deadline{-1ms}.wait_readable(silent.ends[0]) == wait_end::late);
}

TEST_CASE("wait_readable returns at once if the file is readable") {
  const pipe_ends ready;
  REQUIRE(::write(ready.ends[1], "x", 1) == 1);
  CHECK(deadline{1h}.wait_readable(ready.ends[0]) == wait_end::readable);
  CHECK(deadline{0ms}.wait_readable(ready.ends[0]) == wait_end::readable);
}

TEST_CASE("wait_readable returns readable if there is no deadline or the descriptor is invalid") {
  const pipe_ends silent;
  CHECK(deadline{}.wait_readable(silent.ends[0]) == wait_end::readable);
  // poll(2) reports a file that is not open as one that can be read.
  CHECK(deadline{1h}.wait_readable(1'000'000) == wait_end::readable);
}

TEST_CASE("a wake descriptor ends the wait unless the file is readable too") {
  const pipe_ends silent;
  const pipe_ends ready;
  REQUIRE(::write(ready.ends[1], "x", 1) == 1);
  const deadline woken{timeout{1h}.woken_by(ready.ends[0])};
  CHECK(woken.wait_readable(silent.ends[0]) == wait_end::woken);
  CHECK(woken.wait_either_readable(silent.ends[0], silent.ends[0]) == wait_end::woken);
  CHECK(woken.wait_either_readable(silent.ends[0], ready.ends[0]) == wait_end::readable);
  CHECK(deadline{timeout{0ms}.woken_by(silent.ends[0])}.wait_readable(silent.ends[0]) ==
        wait_end::late);
}

TEST_CASE("a signal interrupts a wait with a timeout of two centuries") {
  const pipe_ends silent;
  struct sigaction before{};
  struct sigaction handling{};
  handling.sa_handler = [](int) {};
  handling.sa_flags = SA_RESTART;  // the flag that std::signal sets
  REQUIRE(::sigaction(SIGALRM, &handling, &before) == 0);
  const itimerval soon{{0, 20'000}, {0, 20'000}};
  REQUIRE(::setitimer(ITIMER_REAL, &soon, nullptr) == 0);
  const deadline for_ever{std::chrono::hours{24 * 366 * 200}};
  const wait_end end = for_ever.wait_readable(silent.ends[0]);
  const itimerval off{};
  REQUIRE(::setitimer(ITIMER_REAL, &off, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(end == wait_end::interrupted);
}
