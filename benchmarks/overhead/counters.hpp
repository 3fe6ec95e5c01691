// SPDX-License-Identifier: MIT
// Counts the allocations and locks of this program. The functions of the C library that give them
// are replaced by ones that count first.
#pragma once

#include <cstdint>

namespace counters {

struct counts {
  std::uint64_t allocations = 0;
  std::uint64_t locks = 0;
};

/// Since the program began.
[[nodiscard]] counts so_far() noexcept;

}  // namespace counters
