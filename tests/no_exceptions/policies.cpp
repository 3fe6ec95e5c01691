// SPDX-License-Identifier: MIT
// The three spellings of an error in a program without exceptions. No machine has a device of this
// name, so opening it always fails.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include <adverb/adverb.hpp>

#if defined(__cpp_exceptions)
#error "this program is about the absence of exceptions"
#endif

namespace {

constexpr std::string_view no_such_device = "no_such_device";

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(EXIT_FAILURE);
}

void an_error_code_is_set() {
  std::error_code code;
  check(!adverb::open_device(no_such_device, code), "a context that failed to open is empty");
  check(static_cast<bool>(code), "the error code is set");
}

void a_failure_is_explained() {
  adverb::failure why;
  check(!adverb::open_device(no_such_device, why), "a context that failed to open is empty");
  check(static_cast<bool>(why), "the failure is set");
  check(std::string_view{why.what()}.starts_with("ibv_"), "the failure begins with the verb");
}

// The status of a process that opens the device without an error policy and with this hook.
int status_with(adverb::failure_hook hook) {
  const pid_t child = fork();
  check(child >= 0, "a process can be made");
  if (child == 0) {
    adverb::set_failure_hook(hook);
    static_cast<void>(adverb::open_device(no_such_device));
    _exit(EXIT_SUCCESS);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "the process ends");
  return status;
}

void the_default_tells_the_hook() {
  constexpr int told = 42;
  const int status = status_with([](const adverb::failure&) noexcept { _exit(told); });
  check(WIFEXITED(status) && WEXITSTATUS(status) == told, "the hook is told");
}

void a_hook_that_returns_does_not_save_the_program() {
  const int status = status_with([](const adverb::failure&) noexcept {});
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the process is aborted");
}

}  // namespace

int main() {
  an_error_code_is_set();
  a_failure_is_explained();
  the_default_tells_the_hook();
  a_hook_that_returns_does_not_save_the_program();
}
