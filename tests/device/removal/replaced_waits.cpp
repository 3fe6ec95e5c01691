// SPDX-License-Identifier: MIT
#include "removal/replaced_waits.hpp"

#include <cstddef>
#include <ctime>
#include <functional>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// The waits before the one at which the action is called; 0 if there is none.
constinit thread_local std::size_t left = 0;
std::function<void()> chosen;

void count_wait() {
  if (left != 0 && --left == 0) std::exchange(chosen, nullptr)();
}

/// Signals are sets of 64 bits for the kernel.
constexpr std::size_t signal_set_size = 8;

}  // namespace

extern "C" {

int epoll_wait(int epoll, epoll_event* events, int size, int milliseconds) {
  count_wait();
  return static_cast<int>(
      ::syscall(SYS_epoll_pwait, epoll, events, size, milliseconds, nullptr, signal_set_size));
}

int ppoll(pollfd* files, nfds_t count, const timespec* length, const sigset_t* signals) {
  count_wait();
  // The kernel writes the time that is left.
  timespec left_of_time = length == nullptr ? timespec{} : *length;
  return static_cast<int>(::syscall(SYS_ppoll, files, count,
                                    length == nullptr ? nullptr : &left_of_time, signals,
                                    signal_set_size));
}
}

namespace replaced_waits {

void before(std::size_t nth, std::function<void()> action) {
  chosen = std::move(action);
  left = nth;
}

bool has_come() noexcept { return left == 0; }

}  // namespace replaced_waits
