// SPDX-License-Identifier: MIT
// The three spellings of an error, on an operation that does nothing but fail or succeed.
#include <cerrno>
#include <string>
#include <system_error>

#include <adverb/core/detail/check.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

namespace {

int descriptions = 0;

const auto describe = [](adverb::failure_description& description) {
  ++descriptions;
  description.explain("because");
};

inline bool operate(int result, adverb::on_failure policy = adverb::throwing{}) {
  return adverb::detail::check_returned(policy, "verb", result, describe);
}

}  // namespace

TEST_CASE("all three error policies report the same failure") {
  const adverb::failure why = reported([](auto&&... policy) { operate(EBUSY, policy...); });
  CHECK(std::string{why.what()} == "verb: EBUSY (Device or resource busy); because");
}

TEST_CASE("the default throws a std::system_error") {
  CHECK_THROWS_AS(operate(EINVAL), std::system_error);
  CHECK_NOTHROW(operate(0));
}

TEST_CASE("a thrown error contains its failure") {
  try {
    operate(EINVAL);
    FAIL("nothing was thrown");
  } catch (const adverb::error& thrown) {
    CHECK(thrown.code() == std::errc::invalid_argument);
    CHECK(thrown.failure().verb() == "verb");
    CHECK(thrown.failure().explanation() == "because");
    CHECK(std::string{thrown.what()} == "verb: EINVAL (Invalid argument); because");
  }
}

TEST_CASE("an error code is set on failure and cleared on success") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(operate(0, code));
  CHECK_FALSE(code);
  CHECK_FALSE(operate(EINVAL, code));
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE("a failure is set on failure and cleared on success") {
  adverb::failure why;
  CHECK_FALSE(operate(EINVAL, why));
  CHECK(why.explanation() == "because");
  CHECK(operate(0, why));
  CHECK_FALSE(why);
  CHECK(std::string{why.what()}.empty());
}

TEST_CASE("an explanation is written only into a failure object, and not on success") {
  descriptions = 0;
  std::error_code code;
  operate(EINVAL, code);
  operate(0);
  CHECK(descriptions == 0);
  adverb::failure why;
  operate(EINVAL, why);
  CHECK(descriptions == 1);
}

TEST_CASE("a failure without a caller is reported to the failure hook") {
  const told_failures told;
  adverb::detail::check_returned(adverb::detail::to_failure_hook{}, "verb", EBUSY, describe);
  CHECK(told.messages() ==
        std::vector<std::string>{"verb: EBUSY (Device or resource busy); because"});
}

TEST_CASE("on_failure::failed returns true after a failed step") {
  std::error_code code;
  const adverb::on_failure to_code = code;
  CHECK_FALSE(to_code.failed());
  CHECK_FALSE(adverb::on_failure{adverb::throwing{}}.failed());
  adverb::failure why;
  const adverb::on_failure to_why = why;
  CHECK_FALSE(to_why.failed());
  operate(EINVAL, to_code);
  operate(EINVAL, to_why);
  CHECK(to_code.failed());
  CHECK(to_why.failed());
}
