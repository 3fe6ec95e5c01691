// SPDX-License-Identifier: MIT
// A queue pair that cannot be destroyed. It stays known as a child of what it stands on, which
// would disturb other tests in the same program.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::destroy_qp;

TEST_CASE("The failure hook reports a failed destroy of a pair and of its parents") {
  const told_failures told;
  {
    test_bench bench;
    const auto pair = bench.fresh<transport::rc>();
    bench.machine.fail<destroy_qp>(EBUSY);
  }
  REQUIRE(told.messages().size() == 4);
  CHECK(told.messages()[0] == "ibv_destroy_qp on fake0 qp 0x11: EBUSY (Device or resource busy)");
  CHECK(told.messages()[1].find("still in use by 1 queue pair") != std::string::npos);
  CHECK(told.messages()[2].find("still in use by 1 queue pair") != std::string::npos);
  CHECK(told.messages()[3].find("still in use by 1 protection domain, 1 completion queue") !=
        std::string::npos);
}
