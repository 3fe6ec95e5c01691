// SPDX-License-Identifier: MIT
// The sessions that a listener remembers.
#include <cstdint>

#include <adverb/messages.hpp>
#include <support/catch.hpp>

TEST_CASE("a listener remembers the last 1024 sessions that have ended in order") {
  adverb::detail::session_table table;
  constexpr std::uint64_t remembered = 1024;
  for (std::uint64_t session = 0; session < remembered; ++session) table.note_finished(session);
  CHECK(table.has_finished(0));
  for (std::uint64_t session = remembered; session < 2 * remembered + 1; ++session) {
    table.note_finished(session);
    CHECK(table.has_finished(session));
    CHECK(table.has_finished(session - remembered + 1));
    CHECK_FALSE(table.has_finished(session - remembered));
  }
}
