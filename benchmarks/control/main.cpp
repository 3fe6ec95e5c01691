// SPDX-License-Identifier: MIT
// Does the work under callgrind; `run` makes the tables of what callgrind writes down.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "../support/count_instructions.hpp"
#include "provider.hpp"
#include "work.hpp"

namespace {

using work = std::uint64_t(const control::shared&, std::uint64_t);

/// Returns whether all of the work was done.
bool count_work(const char* name, const char* side, work* function, const control::shared& with) {
  bool done = true;
  const auto run = [&](std::uint64_t times) { done = function(with, times) == times && done; };
  counting::count(name, side, run, 64);
  return done;
}

bool count(const control::shared& with) {
  bool done = count_work("pair", "careful", control::pair_in_c, with);
  const provider::connection wanted = provider::last_connection();
  done = done && count_work("pair", "adverb", control::pair_with_adverb, with);
  if (done && wanted != provider::last_connection()) {
    std::fprintf(stderr, "adverb connects otherwise than careful C\n");
    return false;
  }
  done = done && count_work("asking pair", "careful", control::asking_pair_in_c, with) &&
         count_work("region", "careful", control::region_in_c, with) &&
         count_work("region", "adverb", control::region_with_adverb, with) &&
         count_work("own queue", "careful", control::own_queue_in_c, with);
  for (const int pairs : {1, 500, 8'000, 16'384}) {
    // Else callgrind adds some of what these take to what is counted first.
    CALLGRIND_STOP_INSTRUMENTATION;
    const control::others others{with, pairs - 1};
    CALLGRIND_START_INSTRUMENTATION;
    char name[32];
    std::snprintf(name, sizeof name, "own queue %d", pairs);
    done = done && count_work(name, "adverb", control::own_queue_with_adverb, with);
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
