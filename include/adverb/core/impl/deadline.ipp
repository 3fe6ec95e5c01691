// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <poll.h>

#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/detail/narrowed.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC wait_end deadline::wait_either_readable(int one, int other) const noexcept {
  // Poll ignores negative descriptors.
  pollfd files[]{{one, POLLIN, 0}, {other, POLLIN, 0}, {wake_, POLLIN, 0}};
  timespec time_left{};
  if (end_ != never) {
    const std::int64_t left = end_ - now();
    if (left > 0) {
      // time_t has 32 bits on some platforms, which is 68 years.
      time_left.tv_sec = narrowed<time_t>(left / 1'000'000'000);
      time_left.tv_nsec = narrowed<long>(left % 1'000'000'000);
    }
  }
  const int result = ::ppoll(files, 3, end_ == never ? nullptr : &time_left, nullptr);
  if (result == 0) return wait_end::late;
  if (result == -1 && errno == EINTR) return wait_end::interrupted;
  const bool only_woken = result == 1 && files[2].revents != 0;
  // Reading the file reports any other failure.
  return only_woken ? wait_end::woken : wait_end::readable;
}

}  // namespace adverb::inline ADVERB_ABI::detail
