// SPDX-License-Identifier: MIT
// A stop token as a descriptor that ends waits.
#include <cerrno>
#include <chrono>
#include <stop_token>
#include <system_error>

#include <sys/resource.h>

#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/stop_event.hpp>
#include <support/catch.hpp>

using namespace adverb;
using namespace std::chrono_literals;

TEST_CASE("The descriptor of a stop event is readable once a stop is requested") {
  std::stop_source source;
  const stop_event stopped{source.get_token()};
  CHECK_FALSE(detail::is_readable(stopped.file_descriptor()));
  source.request_stop();
  CHECK(detail::is_readable(stopped.file_descriptor()));
  const detail::deadline until{timeout::endless().woken_by(stopped.file_descriptor())};
  CHECK(until.wait_either_readable(-1, -1) == detail::wait_end::woken);
  CHECK(until.wait_either_readable(-1, -1) == detail::wait_end::woken);
}

TEST_CASE("A stop event is readable at once if its token is already stopped") {
  std::stop_source source;
  source.request_stop();
  const stop_event stopped{source.get_token()};
  CHECK(detail::is_readable(stopped.file_descriptor()));
}

TEST_CASE("A stop event that cannot be created is reported") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::error_code code;
  std::stop_source source;
  {
    const stop_event stopped{source.get_token(), code};
    CHECK(stopped.file_descriptor() == -1);
    source.request_stop();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(code == std::errc::too_many_files_open);
}
