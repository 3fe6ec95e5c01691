// SPDX-License-Identifier: MIT
// The failure hook: receives failures that have no caller to return to.
#pragma once

#include <cstdio>

#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI {

/// A function that receives failures that cannot be returned to a caller. These are a failed
/// destroy in a destructor and a parent destroyed before its children. It also receives a failed
/// hardening check and, without exceptions, every failure of an operation without an error policy;
/// the program aborts after either. Several threads may call the hook at once.
using failure_hook = void (*)(const failure&) noexcept;

/// The default hook: prints one line to standard error.
inline void print_failure(const failure& why) noexcept {
  std::fprintf(stderr, "adverb: %s\n", why.what());
}

namespace detail {
// One for the whole program, even across shared objects built with hidden visibility. A plain
// pointer for the builtins, because <atomic> would be a fifteenth of the library's include cost.
[[gnu::visibility("default")]] inline failure_hook current_failure_hook = &print_failure;
}  // namespace detail

/// Replaces the failure hook of the program and returns the previous one. Null restores
/// `print_failure`. Thread safe.
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
