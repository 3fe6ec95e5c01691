// SPDX-License-Identifier: MIT
// Where a failure goes that has no caller to return to.
#pragma once

#include <cstdio>

#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI {

/// A function that is told of a failure that nobody can be given: a destroy that fails in a
/// destructor, a parent destroyed before its children, and, in programs without exceptions, every
/// failure of an operation that was not given an error policy (the program ends afterwards).
/// It may be called from any thread, several at once.
using failure_hook = void (*)(const failure&) noexcept;

/// The hook of a program that sets none: one line on standard error.
inline void print_failure(const failure& why) noexcept {
  std::fprintf(stderr, "adverb: %s\n", why.what());
}

namespace detail {
// One for the whole program, also across shared objects that were built with hidden visibility.
// A plain pointer for the builtins: <atomic> would be a fifteenth of what the library costs to
// include.
[[gnu::visibility("default")]] inline failure_hook current_failure_hook = &print_failure;
}  // namespace detail

/// Replaces the hook of the program (null: with `print_failure`) and returns the one before. Thread
/// safe.
inline failure_hook set_failure_hook(failure_hook hook) noexcept {
  return __atomic_exchange_n(&detail::current_failure_hook, hook == nullptr ? &print_failure : hook,
                             __ATOMIC_ACQ_REL);
}

namespace detail {
inline void tell_failure_hook(const failure& why) noexcept {
  __atomic_load_n(&current_failure_hook, __ATOMIC_ACQUIRE)(why);
}
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
