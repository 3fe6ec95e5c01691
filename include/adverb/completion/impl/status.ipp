// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <system_error>

#include <adverb/completion/status.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class [[gnu::visibility("default")]] completion_category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "ibv_wc_status"; }
  [[nodiscard]] std::string message(int value) const override {
    return to_string(static_cast<completion_status>(value));
  }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<completion_status>(value)) {
      case completion_status::local_length_error: return std::errc::message_size;
      case completion_status::local_protection_error:
      case completion_status::local_access_error:
      case completion_status::remote_access_error: return std::errc::permission_denied;
      case completion_status::local_queue_pair_operation_error:
      case completion_status::remote_invalid_request_error: return std::errc::invalid_argument;
      case completion_status::flushed: return std::errc::operation_canceled;
      case completion_status::retries_exceeded:
      case completion_status::response_timeout: return std::errc::timed_out;
      case completion_status::rnr_retries_exceeded: return std::errc::no_buffer_space;
      case completion_status::remote_aborted: return std::errc::connection_aborted;
      case completion_status::fatal_error: return std::errc::io_error;
      default: return {value, *this};
    }
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC const std::error_category& completion_category() noexcept {
  // A category is identified by its address, so there is one, of default visibility.
  static const detail::completion_category_type category;
  return category;
}

}  // namespace adverb::inline ADVERB_ABI
