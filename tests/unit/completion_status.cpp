// SPDX-License-Identifier: MIT
// The statuses of completions as error codes.
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/completion/status.hpp>
#include <support/catch.hpp>

namespace {

using adverb::completion_status;
using kind = adverb::completion_status_class;
using enum adverb::completion_status;

// The last of the C API's.
constexpr unsigned last = IBV_WC_TM_RNDV_INCOMPLETE;

}  // namespace

TEST_CASE("every status has a unique name", "[ibv_wc_status_str]") {
  std::set<std::string> names;
  for (unsigned number = 0; number <= last; ++number) {
    const std::string name{to_text(static_cast<completion_status>(number)).view()};
    CAPTURE(number, name);
    CHECK(name.find("unknown") == std::string::npos);
    CHECK(names.insert(name).second);
  }
  CHECK(std::string{to_text(completion_status{999}).view()} == "unknown (999)");
}

TEST_CASE("every status has a class") {
  const std::pair<completion_status, kind> expected[]{
      {success, kind::success},
      {local_length_error, kind::local},
      {local_queue_pair_operation_error, kind::local},
      {local_ee_context_operation_error, kind::local},
      {local_protection_error, kind::local},
      {flushed, kind::flushed},
      {memory_window_bind_error, kind::local},
      {bad_response_error, kind::transport},
      {local_access_error, kind::local},
      {remote_invalid_request_error, kind::remote},
      {remote_access_error, kind::remote},
      {remote_operation_error, kind::remote},
      {retries_exceeded, kind::transport},
      {rnr_retries_exceeded, kind::remote},
      {local_rdd_violation_error, kind::local},
      {remote_invalid_rd_request, kind::remote},
      {remote_aborted, kind::remote},
      {invalid_ee_context_number, kind::transport},
      {invalid_ee_context_state, kind::transport},
      {fatal_error, kind::transport},
      {response_timeout, kind::transport},
      {general_error, kind::transport},
      {tag_matching_error, kind::local},
      {tag_matching_rendezvous_incomplete, kind::local},
  };
  std::set<completion_status> seen;
  for (const auto& [status, expected_class] : expected) {
    CAPTURE(static_cast<unsigned>(status));
    CHECK(class_of(status) == expected_class);
    seen.insert(status);
  }
  CHECK(seen.size() == last + 1);
}

TEST_CASE("every status that occurs in practice has a hint") {
  for (const completion_status status :
       {local_length_error, local_queue_pair_operation_error, local_protection_error, flushed,
        memory_window_bind_error, bad_response_error, local_access_error,
        remote_invalid_request_error, remote_access_error, remote_operation_error, retries_exceeded,
        rnr_retries_exceeded, remote_aborted, fatal_error, response_timeout, general_error}) {
    CAPTURE(static_cast<unsigned>(status));
    CHECK_FALSE(hint_for(status).empty());
  }
  CHECK(hint_for(success).empty());
}

TEST_CASE("a hint that lists alternatives begins them with \"possible causes\"") {
  unsigned alternatives = 0;
  for (unsigned number = 0; number <= last; ++number) {
    const std::string_view hint = hint_for(static_cast<completion_status>(number));
    CAPTURE(hint);
    const std::size_t first = hint.find("possible causes: ");
    const std::size_t second = hint.find(", or ");
    if (second == std::string_view::npos) continue;
    ++alternatives;
    CHECK(first < second);
  }
  CHECK(alternatives == 9);
}

TEST_CASE("the hints of local failures name buffers of another protection domain") {
  for (const completion_status status : {local_queue_pair_operation_error, local_protection_error})
    CHECK(hint_for(status).find("of another protection domain") != std::string_view::npos);
}

TEST_CASE("a status converts to an error code, which is set except for success") {
  CHECK_FALSE(std::error_code{success});
  for (unsigned number = 1; number <= last; ++number)
    CHECK(std::error_code{static_cast<completion_status>(number)});

  const std::error_code code = flushed;
  CHECK(code == flushed);
  CHECK(code != fatal_error);
  CHECK(code.category() == adverb::completion_category());
  CHECK(std::string{code.category().name()} == "ibv_wc_status");
  CHECK(code.message() == "flushed");
  CHECK(std::error_code{remote_access_error}.message() == "remote access error");
}

TEST_CASE("a status equals the std::errc condition of the same meaning") {
  CHECK(std::error_code{local_length_error} == std::errc::message_size);
  CHECK(std::error_code{local_protection_error} == std::errc::permission_denied);
  CHECK(std::error_code{local_access_error} == std::errc::permission_denied);
  CHECK(std::error_code{remote_access_error} == std::errc::permission_denied);
  CHECK(std::error_code{local_queue_pair_operation_error} == std::errc::invalid_argument);
  CHECK(std::error_code{remote_invalid_request_error} == std::errc::invalid_argument);
  CHECK(std::error_code{flushed} == std::errc::operation_canceled);
  CHECK(std::error_code{retries_exceeded} == std::errc::timed_out);
  CHECK(std::error_code{response_timeout} == std::errc::timed_out);
  CHECK(std::error_code{rnr_retries_exceeded} == std::errc::no_buffer_space);
  CHECK(std::error_code{remote_aborted} == std::errc::connection_aborted);
  CHECK(std::error_code{fatal_error} == std::errc::io_error);
  CHECK(std::error_code{general_error}.default_error_condition().category() ==
        adverb::completion_category());
}
