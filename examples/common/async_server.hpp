// SPDX-License-Identifier: MIT
// Servers whose clients are asynchronous connections, or channels of messages.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

#include <errno.h>

#include <adverb/async.hpp>
#include <adverb/cm.hpp>

#include "common/command_line.hpp"

namespace examples {

/// Runs a task that does not end, with those that it starts, until Ctrl-C.
[[noreturn]] inline void run_until_interrupted(adverb::async::event_loop& loop,
                                               adverb::async::task<> server) {
  static adverb::async::event_loop* running = nullptr;
  running = &loop;
  // The loop may go because of an exception.
  struct guard {
    guard() {
      std::signal(SIGINT, [](int) { running->stop(); });
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { std::signal(SIGINT, SIG_DFL); }
  } stops_it;
  loop.spawn(std::move(server));
  loop.run();
  throw interrupted{};
}

/// Runs a task to its end, or until Ctrl-C or the terminal's end.
inline void run_to_end(adverb::async::event_loop& loop, adverb::async::task<> task) {
  bool has_ended = false;
  loop.stop_on({SIGINT, SIGTERM, SIGHUP});
  loop.spawn([&]() -> adverb::async::task<> {
    co_await std::move(task);
    has_ended = true;
  });
  loop.run();
  if (!has_ended) throw interrupted{};
}

/// Starts the task that `serve` returns for each request of a listener, which has these options.
/// Prints the failure of a client; the other clients stay connected.
template <class Listener = adverb::async::listener, class Serve, class... Options>
adverb::async::task<> serve_each(adverb::async::event_loop& loop, std::uint16_t port, Serve serve,
                                 Options... options) {
  Listener listener{loop, adverb::cm::socket_address::any(port), options...};
  std::printf("listening on port %d\n", listener.port());
  while (true)
    loop.spawn(serve(co_await listener.next()), [](std::exception_ptr failure) {
      try {
        if (failure) std::rethrow_exception(failure);
      } catch (const std::exception& why) {
        std::fprintf(stderr, "%s: %s\n", ::program_invocation_short_name, why.what());
      }
    });
}

/// Does so until Ctrl-C.
template <class Listener = adverb::async::listener, class Serve, class... Options>
[[noreturn]] void serve_each_until_interrupted(adverb::async::event_loop& loop, std::uint16_t port,
                                               Serve serve, Options... options) {
  run_until_interrupted(loop, serve_each<Listener>(loop, port, std::move(serve), options...));
}

}  // namespace examples
