// SPDX-License-Identifier: MIT
// The errno of a call that returns it.
#pragma once

#include <cerrno>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the errno of a call that returned this number in place of 0: some providers negate it,
/// and some return -1 and set errno.
[[nodiscard, gnu::cold]] inline int errno_of(int result) noexcept {
  if (result == -1 && errno != 0) return errno;
  return result < 0 ? -result : result;
}

}  // namespace adverb::inline ADVERB_ABI::detail
