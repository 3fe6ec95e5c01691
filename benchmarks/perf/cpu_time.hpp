// SPDX-License-Identifier: MIT
// The processor time that this process takes, in the program and in the kernel.
#pragma once

#include <cstdint>

#include <sys/resource.h>

namespace perf {

class cpu_time {
 public:
  /// Since it was made, for each of so many messages.
  [[nodiscard]] double microseconds_for_each(std::uint64_t messages) const noexcept {
    return messages == 0 ? 0 : (used() - start_) / static_cast<double>(messages);
  }

 private:
  [[nodiscard]] static double microseconds(const timeval& time) noexcept {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  }
  [[nodiscard]] static double used() noexcept {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  }

  double start_ = used();
};

}  // namespace perf
