// SPDX-License-Identifier: MIT
// Has callgrind write down the instructions of a loop; instructions.py reads that.
#pragma once

#include <cstdint>
#include <cstdio>

#include <valgrind/callgrind.h>

namespace counting {

// Not inline, so that the instructions around `run` are the same each time.
template <class Run>
[[gnu::noinline]] void write_down(const char* label, Run& run, std::uint64_t times) {
  CALLGRIND_ZERO_STATS;
  run(times);
  CALLGRIND_DUMP_STATS_AT(label);
}

/// Counts `run(times)` for `fewer` operations and for twice as many. The instructions around the
/// loop are in both, and fall out of their difference.
template <class Run>
void count(const char* job, const char* side, Run run, std::uint64_t fewer = 1024) {
  run(10);
  for (const std::uint64_t times : {fewer, 2 * fewer}) {
    char label[128];
    std::snprintf(label, sizeof label, "%s\t%s\t%llu", job, side,
                  static_cast<unsigned long long>(times));
    write_down(label, run, times);
  }
}

}  // namespace counting
