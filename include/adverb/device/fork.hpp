// SPDX-License-Identifier: MIT
// Support for fork() in a program with registered memory.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI {

/// The support of the process for fork() while memory is registered.
enum class fork_support_status : std::uint32_t {
  /// Not supported: after a fork, a write may give the process a copy that the device does not see.
  disabled = IBV_FORK_DISABLED,
  /// Supported: registered pages are kept out of the child.
  enabled = IBV_FORK_ENABLED,
  /// Supported: the kernel copies such pages for the child at once. Takes precedence.
  unneeded = IBV_FORK_UNNEEDED,
};

[[nodiscard]] constexpr static_string<48> to_text(fork_support_status status) noexcept {
  constexpr std::array<std::string_view, 3> names{"disabled", "enabled", "unneeded"};
  const auto number = static_cast<std::uint32_t>(status);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// Returns the fork support of the process. Wraps: ibv_is_fork_initialized(3).
[[nodiscard]] inline fork_support_status fork_support() noexcept {
  return static_cast<fork_support_status>(ibv_is_fork_initialized());
}

/// Lets the process fork while memory is registered, also through system(3) and popen(3). Every
/// registration then takes a little longer, and registered pages are missing in children. Call it
/// before the first registration: a later call fails with EINVAL, even if fork support is unneeded.
/// A repeated call succeeds.
///
/// A child must neither use nor destroy the objects of its parent. It must leave by _exit(2) or
/// execute another program; exit(3) would destroy static objects. Wraps: ibv_fork_init(3).
inline void initialize_fork_support(on_failure policy = throwing{}) {
  detail::check_returned(policy, "ibv_fork_init", ibv_fork_init(),
                         [](failure_description& description) {
                           if (description.code() == std::errc::invalid_argument)
                             description.explain("memory was registered before");
                         });
}

}  // namespace adverb::inline ADVERB_ABI
