// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include <unistd.h>

#include <adverb/core/failure.hpp>
#include <support/catch.hpp>

namespace {

const adverb::failure some_failure{std::error_code{EBUSY, std::generic_category()}, "verb",
                                   [](adverb::failure_description&) {}};

int told = 0;
void count(const adverb::failure&) noexcept { ++told; }
void ignore(const adverb::failure&) noexcept {}

/// Returns the text that `action` writes to standard error.
template <class Action>
std::string standard_error_of(const Action& action) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  action();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);

  std::string written;
  std::rewind(file);
  for (int character = std::fgetc(file); character != EOF; character = std::fgetc(file))
    written += static_cast<char>(character);
  std::fclose(file);
  return written;
}

}  // namespace

TEST_CASE("the default failure hook writes one line to standard error") {
  CHECK(standard_error_of([] { adverb::detail::tell_failure_hook(some_failure); }) ==
        "adverb: verb: EBUSY (Device or resource busy)\n");
}

TEST_CASE("set_failure_hook replaces the hook and returns the previous one") {
  const adverb::failure_hook first = adverb::set_failure_hook(&count);
  CHECK(first == &adverb::print_failure);
  told = 0;
  adverb::detail::tell_failure_hook(some_failure);
  CHECK(told == 1);
  CHECK(adverb::set_failure_hook(&ignore) == &count);
  adverb::detail::tell_failure_hook(some_failure);
  CHECK(told == 1);
  CHECK(adverb::set_failure_hook(first) == &ignore);
}
