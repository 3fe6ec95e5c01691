// SPDX-License-Identifier: MIT
// A signal handler that keeps running while this lives.
#pragma once

#include <csignal>

#include <sys/time.h>

/// Interrupts what waits, every few milliseconds. One at a time.
class interrupting {
 public:
  interrupting() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 5000}, {0, 5000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~interrupting() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  interrupting(const interrupting&) = delete;
  interrupting& operator=(const interrupting&) = delete;

 private:
  struct sigaction before_{};
};
