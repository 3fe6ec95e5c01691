// SPDX-License-Identifier: MIT
// A tick that ends a sleep now and then.
#pragma once

#include <csignal>

#include <sys/time.h>

namespace perf {

/// While it lives, a sleep of this process ends after 50 milliseconds at the latest, as if nothing
/// had come: for who sleeps for completions, and has to look whether the peer is still there.
class short_sleeps {
 public:
  explicit short_sleeps(bool wanted) : wanted_{wanted} {
    if (!wanted_) return;
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    set_interval(50'000);
  }
  short_sleeps(const short_sleeps&) = delete;
  short_sleeps& operator=(const short_sleeps&) = delete;
  ~short_sleeps() {
    if (wanted_) set_interval(0);
  }

 private:
  static void set_interval(suseconds_t microseconds) noexcept {
    const timeval each{.tv_sec = 0, .tv_usec = microseconds};
    const itimerval interval{.it_interval = each, .it_value = each};
    ::setitimer(ITIMER_REAL, &interval, nullptr);
  }

  bool wanted_;
};

}  // namespace perf
