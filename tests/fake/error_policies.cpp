// SPDX-License-Identifier: MIT
// The three spellings of an error, on real operations.
#include <cerrno>
#include <string>
#include <system_error>

#include <adverb/memory/protection_domain.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace called = fake::called;

TEST_CASE("the default policy throws an error with verb, object and errno") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  machine.fail<called::alloc_pd>(ENOMEM);
  try {
    const adverb::protection_domain domain{context};
    FAIL("nothing was thrown");
  } catch (const adverb::error& error) {
    CHECK(error.code() == std::errc::not_enough_memory);
    CHECK(error.failure().verb() == "ibv_alloc_pd");
    CHECK(error.failure().object() == "fake0");
    CHECK(std::string{error.what()} == "ibv_alloc_pd on fake0: ENOMEM (Cannot allocate memory)");
  }
}

TEST_CASE("a failed constructor sets the error code and leaves the object empty") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  machine.fail<called::alloc_pd>(ENOMEM);
  std::error_code code;
  const adverb::protection_domain failed{context, code};
  CHECK_FALSE(failed);
  CHECK(code == std::errc::not_enough_memory);

  const adverb::protection_domain made{context, code};
  CHECK(made);
  CHECK_FALSE(code);
}

TEST_CASE("a failed constructor fills in the failure and leaves the object empty") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  machine.fail<called::alloc_pd>(ENOMEM);
  adverb::failure why;
  const adverb::protection_domain failed{context, why};
  CHECK_FALSE(failed);
  CHECK(std::string{why.what()} == "ibv_alloc_pd on fake0: ENOMEM (Cannot allocate memory)");

  const adverb::protection_domain made{context, why};
  CHECK(made);
  CHECK_FALSE(why);
}

TEST_CASE("an empty parent is reported and not passed to C") {
  fake::machine machine;
  const adverb::context none;
  const adverb::failure why =
      reported([&](auto&&... policy) { const adverb::protection_domain domain{none, policy...}; });
  CHECK(std::string{why.what()} ==
        "ibv_alloc_pd: EINVAL (Invalid argument); "
        "the context is empty: moved from, closed, or never created");
  CHECK(machine.count<called::alloc_pd>() == 0);
}
