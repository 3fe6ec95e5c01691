// SPDX-License-Identifier: MIT
// The errors of getaddrinfo, as an error category of their own, and as rdma_getaddrinfo returns
// them.
#include <cerrno>
#include <string>

#include <adverb/cm/address_list.hpp>
#include <adverb/core/detail/check.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::lookup_error;

namespace {

/// The error of a call that sets errno and returns.
std::error_code checked(int result, int number) {
  std::error_code code = std::make_error_code(std::errc::io_error);
  const bool done = detail::check_looked_up(
      code, "verb", cm::lookup_category(),
      [&] {
        errno = number;
        return result;
      },
      [](failure_description&) {});
  CHECK(done == !code);
  return code;
}

}  // namespace

TEST_CASE("An error of name resolution has the category getaddrinfo") {
  CHECK(make_error_code(lookup_error::host_not_found).category() == cm::lookup_category());
  CHECK(std::string{cm::lookup_category().name()} == "getaddrinfo");
  CHECK(make_error_code(lookup_error::host_not_found).message() == gai_strerror(EAI_NONAME));
  CHECK(make_error_code(lookup_error::host_not_found) != std::errc::no_such_file_or_directory);
  CHECK(make_error_code(lookup_error::try_again) == std::errc::resource_unavailable_try_again);
  CHECK(make_error_code(lookup_error::out_of_memory) == std::errc::not_enough_memory);
  CHECK(make_error_code(lookup_error::family_not_supported) ==
        std::errc::address_family_not_supported);
}

TEST_CASE("An error of getaddrinfo is taken from errno or from the result") {
  CHECK(checked(-1, EAI_NONAME) == lookup_error::host_not_found);
  CHECK(checked(EAI_NONAME, 0) == lookup_error::host_not_found);
  CHECK(checked(EAI_SERVICE, EINVAL) == lookup_error::service_not_found);
}

TEST_CASE("An errno of rdma_getaddrinfo keeps the generic category") {
  CHECK(checked(-1, ENODEV) == std::errc::no_such_device);
  CHECK(checked(-1, 0) == std::errc::io_error);
  CHECK(checked(-1, -1) == std::errc::not_enough_memory);
  CHECK_FALSE(checked(0, ENODEV));
}
