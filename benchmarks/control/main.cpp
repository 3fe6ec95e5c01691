// SPDX-License-Identifier: MIT
// Does the work under callgrind; `run` makes the tables of what callgrind writes down.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <valgrind/callgrind.h>

#include "provider.hpp"
#include "work.hpp"

namespace {

using work = std::uint64_t(const control::shared&, std::uint64_t);

/// Has callgrind write down what the work takes. Not inline, so that what is around it takes the
/// same each time.
[[gnu::noinline]] bool count_once(const char* label, work* function, const control::shared& with,
                                  std::uint64_t times) {
  CALLGRIND_ZERO_STATS;
  const std::uint64_t done = function(with, times);
  CALLGRIND_DUMP_STATS_AT(label);
  return done == times;
}

/// Counts with two numbers of operations: what is around the loop is in both, and falls out of
/// their difference.
bool count_twice(const char* name, const char* side, work* function, const control::shared& with) {
  if (function(with, 10) != 10) return false;
  for (const unsigned times : {64U, 128U}) {
    char label[128];
    std::snprintf(label, sizeof label, "%s\t%s\t%u", name, side, times);
    if (!count_once(label, function, with, times)) return false;
  }
  return true;
}

bool count(const control::shared& with) {
  bool done = count_twice("pair", "careful", control::pair_in_c, with);
  const provider::connection wanted = provider::last_connection();
  done = done && count_twice("pair", "adverb", control::pair_with_adverb, with);
  if (done && wanted != provider::last_connection()) {
    std::fprintf(stderr, "adverb connects otherwise than careful C\n");
    return false;
  }
  done = done && count_twice("asking pair", "careful", control::asking_pair_in_c, with) &&
         count_twice("region", "careful", control::region_in_c, with) &&
         count_twice("region", "adverb", control::region_with_adverb, with) &&
         count_twice("own queue", "careful", control::own_queue_in_c, with);
  for (const int pairs : {1, 500, 8'000, 16'384}) {
    // Else callgrind adds some of what these take to what is counted first.
    CALLGRIND_STOP_INSTRUMENTATION;
    const control::others others{with, pairs - 1};
    CALLGRIND_START_INSTRUMENTATION;
    char name[32];
    std::snprintf(name, sizeof name, "own queue %d", pairs);
    done = done && count_twice(name, "adverb", control::own_queue_with_adverb, with);
  }
  return done;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2 || std::strcmp(arguments[1], "count") != 0) {
    std::fprintf(stderr, "usage: %s count\n", arguments[0]);
    return EXIT_FAILURE;
  }
  ibv_context* const context = provider::open_device();
  const control::shared with{context, ibv_alloc_pd(context),
                             ibv_create_cq(context, 4096, nullptr, nullptr, 0)};
  if (count(with)) return EXIT_SUCCESS;
  std::fprintf(stderr, "the work failed\n");
  return EXIT_FAILURE;
}
