// SPDX-License-Identifier: MIT
// Operations on file descriptors that deliver events.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns whether a read would return something at once.
[[nodiscard]] inline bool is_readable(int file_descriptor) noexcept {
  pollfd waited{file_descriptor, POLLIN, 0};
  return ::poll(&waited, 1, 0) > 0;
}

/// Makes reads from a descriptor non-blocking or blocking.
inline void set_non_blocking(on_failure policy, int file_descriptor, bool non_blocking,
                             describe_failure describe) {
  check_minus_one(
      policy, "fcntl",
      [&] {
        const int flags = ::fcntl(file_descriptor, F_GETFL);
        if (flags == -1) return -1;
        return ::fcntl(file_descriptor, F_SETFL,
                       non_blocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
      },
      describe);
}

}  // namespace adverb::inline ADVERB_ABI::detail
