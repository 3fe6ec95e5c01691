// SPDX-License-Identifier: MIT
// The last message of a program that ends because of its own mistake.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <adverb/core/failure.hpp>
#include <support/catch.hpp>

/// The end of a process of its own in which a function is called.
struct ended_program {
  template <class Function>
  explicit ended_program(const Function& function) {
    int ends[2] = {};
    REQUIRE(pipe(ends) == 0);
    static int to_parent = -1;
    to_parent = ends[1];
    std::fflush(nullptr);
    const pid_t child = fork();
    REQUIRE(child != -1);
    if (child == 0) {
      // Catch would report the signal as a failure.
      for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(each, SIG_DFL);
      adverb::set_failure_hook(
          [](const adverb::failure& why) noexcept { dprintf(to_parent, "%s", why.what()); });
      function();
      _exit(0);
    }
    close(ends[1]);
    char buffer[1024];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
      words.append(buffer, static_cast<std::size_t>(count));
    close(ends[0]);
    REQUIRE(waitpid(child, &status, 0) == child);
  }

  /// The status that waitpid(2) returns.
  int status = 0;
  /// The messages that the failure hook got.
  std::string words;
};

/// Calls the function in a process of its own, and returns the message that the failure hook got
/// before it aborted; "it went on" if it did not.
template <class Function>
std::string words_at_the_end(const Function& function) {
  const ended_program found{function};
  if (!WIFSIGNALED(found.status) || WTERMSIG(found.status) != SIGABRT) return "it went on";
  return found.words;
}
