// SPDX-License-Identifier: MIT
// Loaded before a program (LD_PRELOAD). Writes the number of its allocations to the file that
// ADVERB_ALLOCATIONS names when the program ends.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "../overhead/counters.hpp"

namespace {

struct at_exit {
  ~at_exit() {
    const std::uint64_t count = counters::so_far().allocations;
    const char* const path = std::getenv("ADVERB_ALLOCATIONS");
    std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fprintf(file, "%" PRIu64 "\n", count);
    std::fclose(file);
  }
} const counted;

}  // namespace
