// SPDX-License-Identifier: MIT
// The statuses of completions, against the libibverbs that is installed.
#include <string>

#include "support.hpp"

using namespace adverb;

TEST_CASE("Every completion status of libibverbs has a name", "[ibv_wc_status_str]") {
  const auto theirs = [](unsigned number) {
    return std::string{ibv_wc_status_str(static_cast<ibv_wc_status>(number))};
  };
  const std::string unknown = theirs(1000);
  CHECK(to_string(completion_status{1000}) == "unknown (1000)");
  unsigned known = 0;
  for (unsigned number = 0; number < 1000; ++number) {
    if (theirs(number) == unknown) continue;
    CAPTURE(number, theirs(number));
    CHECK(to_string(static_cast<completion_status>(number)).rfind("unknown", 0) != 0);
    ++known;
  }
  CHECK(known >= 22);
}
