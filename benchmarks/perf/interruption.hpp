// SPDX-License-Identifier: MIT
// Ctrl-C, and other signals that end the process.
#pragma once

#include <csignal>
#include <stdexcept>

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

}  // namespace perf
