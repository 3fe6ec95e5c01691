// SPDX-License-Identifier: MIT
// The meaning of each event of librdmacm: the table of the code is the one of the guide.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <adverb/cm/detail/event_meaning.hpp>
#include <support/catch.hpp>

namespace cm = adverb::cm;
using adverb::detail::cm_phase;
using adverb::detail::event_meaning;
using adverb::detail::event_row;
using adverb::detail::event_table;
using adverb::detail::meaning_of;

namespace {

[[nodiscard]] std::string_view name_of(event_meaning meaning) {
  switch (meaning) {
    case event_meaning::nothing: return "";
    case event_meaning::success: return "success";
    case event_meaning::failure: return "failure";
    case event_meaning::end: return "end";
  }
  return "?";
}

/// A row of the guide's table.
[[nodiscard]] std::string row_of(const event_row& row) {
  std::string name{to_text(row.type).view()};
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string line = "| `" + name + "` |";
  for (const event_meaning each : row.meanings)
    line += each == event_meaning::nothing ? " |" : " " + std::string{name_of(each)} + " |";
  return line;
}

}  // namespace

TEST_CASE("The guide has the meaning of each event in each phase") {
  std::ifstream page{ADVERB_GUIDE_TO_ERRORS};
  const std::string text{std::istreambuf_iterator<char>{page}, {}};
  REQUIRE(!text.empty());
  for (const event_row& row : event_table) {
    INFO(row_of(row));
    CHECK(text.find(row_of(row) + "\n") != std::string::npos);
  }
}

TEST_CASE("Each event has one row, and an unknown one means nothing") {
  for (const event_row& row : event_table) {
    std::size_t rows = 0;
    for (const event_row& other : event_table) rows += other.type == row.type ? 1 : 0;
    CHECK(rows == 1);
  }
  for (std::uint32_t type = 0; type < 64; ++type)
    if (type > static_cast<std::uint32_t>(cm::event_type::user))
      CHECK(meaning_of(static_cast<cm::event_type>(type), cm_phase::connected) ==
            event_meaning::nothing);
}

TEST_CASE("The removal of the device ends every phase, and no other event does") {
  for (const event_row& row : event_table) {
    bool ends_all = true;
    for (const event_meaning each : row.meanings)
      ends_all = ends_all && (each == event_meaning::failure || each == event_meaning::end);
    CHECK(ends_all == (row.type == cm::event_type::device_removal));
  }
}
