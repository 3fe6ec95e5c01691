// SPDX-License-Identifier: MIT
// fork() in a program that has registered memory.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI {

/// Whether registered memory keeps its device when the process forks.
enum class fork_support_status : std::uint32_t {
  /// No: after a fork, a write may leave the process with a copy that the device does not see.
  disabled = IBV_FORK_DISABLED,
  /// Yes: registered pages are kept out of the child.
  enabled = IBV_FORK_ENABLED,
  /// Yes, because the kernel copies such pages for the child at once. It takes precedence.
  unneeded = IBV_FORK_UNNEEDED,
};

[[nodiscard]] constexpr static_string<48> to_text(fork_support_status status) noexcept {
  constexpr std::array<std::string_view, 3> names{"disabled", "enabled", "unneeded"};
  const auto number = static_cast<std::uint32_t>(status);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// Wraps: ibv_is_fork_initialized(3).
[[nodiscard]] inline fork_support_status fork_support() noexcept {
  return static_cast<fork_support_status>(ibv_is_fork_initialized());
}

/// Makes the process one that can fork, also by system(3) and popen(3), while its memory is
/// registered; every registration takes a little longer then, and its pages are missing in
/// children. A child must not use the objects of its parent, nor destroy them: it leaves by
/// _exit(2), not by exit(3), which destroys static objects, or becomes another program. Call it
/// before the first registration: later it fails with EINVAL, even if fork support is unneeded. A
/// repeated call succeeds. Wraps: ibv_fork_init(3).
inline void initialize_fork_support(on_failure policy = throwing{}) {
  detail::check_returned(policy, "ibv_fork_init", ibv_fork_init(),
                         [](failure_description& description) {
                           if (description.code() == std::errc::invalid_argument)
                             description.explain("memory was registered before");
                         });
}

}  // namespace adverb::inline ADVERB_ABI
