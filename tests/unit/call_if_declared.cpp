// SPDX-License-Identifier: MIT
// A function is called if the headers declare it, and explained if they do not.
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/core/detail/check.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

/// Stands for an object of the C API for which some headers have one function more than others.
struct test_double {
  int calls = 0;
};
static int declared_verb(test_double* object, int value) {
  ++object->calls;
  return value;
}

namespace {

using namespace adverb;

constexpr auto on_test_double = [](failure_description& description) {
  description.object([](text_writer& writer) { writer.put("rxe0 double 1"); });
};

inline bool call_declared(test_double& object, int value, on_failure policy = throwing{}) {
  return detail::call_if_declared<bool>(
      policy, "declared_verb", on_test_double,
      [&](auto* native, int number)
        requires requires { declared_verb(native, number); }
      {
        return detail::check_returned(policy, "declared_verb", declared_verb(native, number),
                                      on_test_double);
      },
      &object, value);
}

inline bool call_missing(test_double& object, on_failure policy = throwing{}) {
  return detail::call_if_declared<bool>(
      policy, "missing_verb", on_test_double,
      [](auto* native)
        requires requires { missing_verb(native); }
      { return missing_verb(native) == 0; },
      &object);
}

}  // namespace

TEST_CASE("call_if_declared calls a declared function and returns its result") {
  test_double object;
  CHECK(call_declared(object, 0));
  std::error_code code;
  CHECK_FALSE(call_declared(object, EBUSY, code));
  CHECK(code == std::errc::device_or_resource_busy);
  CHECK(object.calls == 2);
}

TEST_CASE("call_if_declared fails with EOPNOTSUPP if the headers lack the function") {
  test_double object;
  const failure why = reported([&](auto&... policy) {
    const bool done = call_missing(object, policy...);
    CHECK_FALSE(done);
  });
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.verb() == "missing_verb");
  CHECK(why.object() == "rxe0 double 1");
  CHECK(why.explanation() ==
        "adverb was compiled with headers of rdma-core that lack missing_verb");
}
