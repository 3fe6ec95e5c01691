// SPDX-License-Identifier: MIT
// Ctrl-C and the like, as a file descriptor that can be waited for beside others.
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/file_descriptor.hpp"

namespace file_transfer {

struct interrupted : std::runtime_error {
  interrupted() : std::runtime_error{"interrupted"} {}
};

/// From its construction until the program ends, SIGINT, SIGTERM and SIGHUP are recorded and do not
/// end the program; SIGXFSZ is ignored, so a file that is too large is an error of the write. A
/// program has one of these.
class interruption {
 public:
  interruption() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (!event_) throw std::system_error{errno, std::generic_category(), "eventfd"};
    event_of_handler = event_.number();
    struct sigaction action{};  // Without SA_RESTART a signal interrupts a wait.
    action.sa_handler = keep;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &action, nullptr);
  }
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  /// Readable after a signal.
  [[nodiscard]] int file_descriptor() const noexcept { return event_.number(); }
  /// Throws `interrupted` once after a signal.
  void check() const {
    std::uint64_t count = 0;
    if (::read(event_.number(), &count, sizeof count) == sizeof count) throw interrupted{};
  }

 private:
  static inline volatile std::sig_atomic_t event_of_handler = -1;

  static void keep(int) {
    const int before = errno;
    const std::uint64_t one = 1;
    if (::write(event_of_handler, &one, sizeof one) < 0) errno = before;  // It is recorded already.
    errno = before;
  }

  examples::file_descriptor event_;
};

}  // namespace file_transfer
