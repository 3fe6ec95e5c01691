// SPDX-License-Identifier: MIT
// The failure conventions of the C libraries.
#include <cerrno>
#include <climits>
#include <system_error>

#include <adverb/core/detail/check.hpp>
#include <support/catch.hpp>

namespace {

using namespace adverb::detail;

const auto undescribed = [](adverb::failure_description&) {};

/// A C function that sets errno, unless that is 0, and returns.
template <class Result>
auto returns(Result result, int error) {
  return [=] {
    if (error != 0) errno = error;
    return result;
  };
}

int object = 0;

}  // namespace

TEST_CASE("a returned errno is reported, whether positive or negative") {
  std::error_code code;
  CHECK(check_returned(code, "verb", 0, undescribed));
  CHECK_FALSE(code);
  CHECK_FALSE(check_returned(code, "verb", EINVAL, undescribed));
  CHECK(code == std::errc::invalid_argument);
  CHECK_FALSE(check_returned(code, "verb", -EBUSY, undescribed));
  CHECK(code == std::errc::device_or_resource_busy);
}

TEST_CASE("a returned -1 is reported as the errno of the call, or else as EPERM") {
  std::error_code code;
  errno = ENOMEM;
  CHECK_FALSE(check_returned(code, "verb", -1, undescribed));
  CHECK(code == std::errc::not_enough_memory);
  errno = 0;
  CHECK_FALSE(check_returned(code, "verb", -1, undescribed));
  CHECK(code == std::errc::operation_not_permitted);
}

TEST_CASE("a null pointer is reported with the errno of the call") {
  std::error_code code;
  CHECK(check_pointer(code, "verb", returns(&object, 0), undescribed) == &object);
  CHECK_FALSE(code);
  CHECK(check_pointer(code, "verb", returns(static_cast<int*>(nullptr), ENOMEM), undescribed) ==
        nullptr);
  CHECK(code == std::errc::not_enough_memory);
}

TEST_CASE("a non-null pointer is a success whatever errno is") {
  std::error_code code;
  CHECK(check_pointer(code, "verb", returns(&object, EINTR), undescribed) == &object);
  CHECK_FALSE(code);
}

TEST_CASE("a failed call that sets no errno is reported as EIO, not with a stale errno") {
  std::error_code code;
  errno = ENOENT;
  check_pointer(code, "verb", returns(static_cast<int*>(nullptr), 0), undescribed);
  CHECK(code == std::errc::io_error);
  errno = ENOENT;
  CHECK_FALSE(check_minus_one(code, "verb", returns(-1, 0), undescribed));
  CHECK(code == std::errc::io_error);
}

TEST_CASE("a result of -1 is reported with the errno of the call") {
  std::error_code code;
  CHECK_FALSE(check_minus_one(code, "verb", returns(-1, EAGAIN), undescribed));
  CHECK(code == std::errc::resource_unavailable_try_again);
  CHECK(check_minus_one(code, "verb", returns(0, 0), undescribed));
  CHECK_FALSE(code);
  CHECK(check_minus_one(code, "verb", returns(7, 0), undescribed));
}

TEST_CASE("a negative count is reported as its negated errno") {
  std::error_code code;
  CHECK(check_count(code, "verb", 0, undescribed) == 0);
  CHECK_FALSE(code);
  CHECK(check_count(code, "verb", 3, undescribed) == 3);
  CHECK_FALSE(code);
  CHECK(check_count(code, "verb", -EINVAL, undescribed) == 0);
  CHECK(code == std::errc::invalid_argument);
  CHECK(check_count(code, "verb", -EPERM, undescribed) == 0);
  CHECK(code == std::errc::operation_not_permitted);
}

TEST_CASE("check_reregistered returns the result and reports errno") {
  adverb::failure why;
  const auto describe = [](adverb::failure_description& description, int result) {
    description.explain(result == -4 ? "four" : "other");
  };
  CHECK(check_reregistered(why, "verb", returns(0, EINVAL), describe) == 0);
  CHECK_FALSE(why);
  CHECK(check_reregistered(why, "verb", returns(-4, EFAULT), describe) == -4);
  CHECK(why.code() == std::errc::bad_address);
  CHECK(why.explanation() == "four");
  errno = ENOENT;
  CHECK(check_reregistered(why, "verb", returns(-1, 0), describe) == -1);
  CHECK(why.code() == std::errc::io_error);
  CHECK(check_reregistered(why, "verb", returns(0, 0), describe) == 0);
  CHECK_FALSE(why);
}

TEST_CASE("a failed poll is reported as EIO, whatever negative number the provider returns") {
  std::error_code code;
  CHECK(check_polled(code, "verb", 3, undescribed) == 3);
  CHECK_FALSE(code);
  CHECK(check_polled(code, "verb", -1, undescribed) == 0);
  CHECK(code == std::errc::io_error);
  CHECK(check_polled(code, "verb", -2, undescribed) == 0);
  CHECK(code == std::errc::io_error);
}

TEST_CASE("check_entry takes ENOENT for the end and reports a negative number as EIO") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(check_entry(code, "verb", 0, undescribed));
  CHECK_FALSE(code);
  code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(check_entry(code, "verb", ENOENT, undescribed));
  CHECK_FALSE(code);
  CHECK_FALSE(check_entry(code, "verb", EFAULT, undescribed));
  CHECK(code == std::errc::bad_address);
  CHECK_FALSE(check_entry(code, "verb", -ENOENT, undescribed));
  CHECK(code == std::errc::io_error);
}

TEST_CASE("an errno becomes a code of the generic category") {
  CHECK(errno_code(EINVAL) == std::errc::invalid_argument);
  CHECK(errno_code(EINVAL).category() == std::generic_category());
  CHECK(errno_code(0) == std::errc::io_error);
}
