// SPDX-License-Identifier: MIT
// Sources of one program that are compiled with different macros.
#include <set>
#include <string>

#include <support/catch.hpp>

#include "unit/flavours/names.hpp"

TEST_CASE("Classes that depend on a macro have different names in sources that define it") {
  const std::set<std::string> names{flavours::plain(), flavours::boost(), flavours::poison(),
                                    flavours::unchecked()};
  CHECK(names.size() == 4);
}
