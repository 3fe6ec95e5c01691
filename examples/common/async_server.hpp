// SPDX-License-Identifier: MIT
// Servers whose clients are asynchronous connections.
#pragma once

#include <csignal>
#include <utility>

#include <adverb/async.hpp>

#include "common/command_line.hpp"

namespace examples {

/// Runs a task that does not end, with those that it starts, until Ctrl-C.
[[noreturn]] inline void run_until_interrupted(adverb::async::event_loop& loop,
                                               adverb::async::task<> server) {
  static adverb::async::event_loop* running = nullptr;
  running = &loop;
  std::signal(SIGINT, [](int) { running->stop(); });
  loop.spawn(std::move(server));
  loop.run();
  std::signal(SIGINT, SIG_DFL);
  throw interrupted{};
}

}  // namespace examples
