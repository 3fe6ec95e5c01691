// SPDX-License-Identifier: MIT
// Ctrl-C, and a tick that ends a sleep now and then.
#pragma once

#include <csignal>
#include <stdexcept>

#include <sys/time.h>

namespace perf {

class interruption {
 public:
  /// From here on, SIGINT and SIGTERM are noted and end what the process waits for.
  static void watch() {
    note_on(SIGINT);
    note_on(SIGTERM);
  }
  [[nodiscard]] static bool requested() noexcept { return requested_ != 0; }
  static void throw_if_requested() {
    if (requested()) throw std::runtime_error{"interrupted"};
  }

 private:
  static void note_on(int signal) {
    struct sigaction action{};
    action.sa_handler = [](int) { requested_ = 1; };
    ::sigaction(signal, &action, nullptr);
  }

  static inline volatile std::sig_atomic_t requested_ = 0;
};

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
