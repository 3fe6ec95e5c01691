// SPDX-License-Identifier: MIT
// Completion statuses: an error category, with a class and a hint for each status.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The status of a completion. A std::error_code enum that compares with std::errc where that fits.
enum class completion_status : std::uint32_t {
  success = IBV_WC_SUCCESS,
  local_length_error = IBV_WC_LOC_LEN_ERR,
  local_queue_pair_operation_error = IBV_WC_LOC_QP_OP_ERR,
  local_ee_context_operation_error = IBV_WC_LOC_EEC_OP_ERR,
  local_protection_error = IBV_WC_LOC_PROT_ERR,
  flushed = IBV_WC_WR_FLUSH_ERR,
  memory_window_bind_error = IBV_WC_MW_BIND_ERR,
  bad_response_error = IBV_WC_BAD_RESP_ERR,
  local_access_error = IBV_WC_LOC_ACCESS_ERR,
  remote_invalid_request_error = IBV_WC_REM_INV_REQ_ERR,
  remote_access_error = IBV_WC_REM_ACCESS_ERR,
  remote_operation_error = IBV_WC_REM_OP_ERR,
  retries_exceeded = IBV_WC_RETRY_EXC_ERR,
  rnr_retries_exceeded = IBV_WC_RNR_RETRY_EXC_ERR,
  local_rdd_violation_error = IBV_WC_LOC_RDD_VIOL_ERR,
  remote_invalid_rd_request = IBV_WC_REM_INV_RD_REQ_ERR,
  remote_aborted = IBV_WC_REM_ABORT_ERR,
  invalid_ee_context_number = IBV_WC_INV_EECN_ERR,
  invalid_ee_context_state = IBV_WC_INV_EEC_STATE_ERR,
  fatal_error = IBV_WC_FATAL_ERR,
  response_timeout = IBV_WC_RESP_TIMEOUT_ERR,
  general_error = IBV_WC_GENERAL_ERR,
  tag_matching_error = IBV_WC_TM_ERR,
  tag_matching_rendezvous_incomplete = IBV_WC_TM_RNDV_INCOMPLETE,
};

/// The side on which the cause of a status lies.
enum class completion_status_class : std::uint8_t {
  success,
  /// A mistake of the program that posted the request.
  local,
  /// The peer refused or failed.
  remote,
  /// No valid response arrived.
  transport,
  /// The request did not fail; its queue pair was in the error state.
  flushed,
};

[[nodiscard]] constexpr static_string<48> to_text(completion_status_class kind) noexcept {
  constexpr std::array<std::string_view, 5> names{"success", "local", "remote", "transport",
                                                  "flushed"};
  const auto number = static_cast<std::uint8_t>(kind);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

namespace detail {

struct completion_status_description {
  std::string_view name;
  completion_status_class kind;
  std::string_view hint;
};

// The one table with the facts about each status.
[[nodiscard]] constexpr completion_status_description describe(completion_status status) noexcept {
  using enum completion_status;
  using kind = completion_status_class;
  switch (status) {
    case success: return {"success", kind::success, ""};
    case local_length_error:
      return {"local length error", kind::local,
              "the posted buffer is too short for the message, or the message too long for the "
              "transport"};
    case local_queue_pair_operation_error:
      return {"local queue pair operation error", kind::local,
              "the request is inconsistent: an lkey, length or buffer that this pair cannot use, "
              "or (on "
              "Soft-RoCE) a receive that is too short for its message"};
    case local_ee_context_operation_error:
      return {"local EE context operation error", kind::local, ""};
    case local_protection_error:
      return {"local protection error", kind::local,
              "the buffer is not inside a region of this protection domain that grants the access"};
    case flushed:
      return {"flushed", kind::flushed,
              "the queue pair entered the error state; an earlier completion has the cause"};
    case memory_window_bind_error:
      return {"memory window bind error", kind::local,
              "the window is still bound, its key was not restored after a failed bind, or queue "
              "pair, window and region do not match"};
    case bad_response_error:
      return {"bad response", kind::transport, "the responder sent an unexpected response"};
    case local_access_error:
      return {"local access error", kind::local,
              "a peer's request violated the protection of local memory"};
    case remote_invalid_request_error:
      return {
          "remote invalid request", kind::remote,
          "the peer's queue pair does not allow this operation (allow(...) of its init()), or its "
          "receive is too short"};
    case remote_access_error:
      return {"remote access error", kind::remote,
              "the peer's memory does not grant the access: a wrong or revoked key, or a wrong "
              "range, right or protection domain"};
    case remote_operation_error:
      return {"remote operation error", kind::remote,
              "the peer could not complete the operation: for example, its receive is too short, "
              "or its memory is gone because its program is ending"};
    case retries_exceeded:
      return {"transport retries exceeded", kind::transport,
              "the peer does not answer: it is gone, its queue pair is not ready to receive, or "
              "the GID, GID index, queue pair number or first packet sequence number is wrong; or "
              "(on Soft-RoCE) it posted no receive for too long"};
    case rnr_retries_exceeded:
      return {"receiver-not-ready retries exceeded", kind::remote,
              "the peer has no receive posted"};
    case local_rdd_violation_error: return {"local RDD violation", kind::local, ""};
    case remote_invalid_rd_request: return {"remote invalid RD request", kind::remote, ""};
    case remote_aborted: return {"remote aborted", kind::remote, "the peer aborted the operation"};
    case invalid_ee_context_number: return {"invalid EE context number", kind::transport, ""};
    case invalid_ee_context_state: return {"invalid EE context state", kind::transport, ""};
    case fatal_error: return {"fatal error", kind::transport, "the device failed: open it again"};
    case response_timeout: return {"response timeout", kind::transport, "the peer does not answer"};
    case general_error: return {"general error", kind::transport, "the vendor error has the cause"};
    case tag_matching_error:
      return {"tag matching error", kind::local, "a tag matching operation failed"};
    case tag_matching_rendezvous_incomplete:
      return {"tag matching rendezvous incomplete", kind::local,
              "the software has to complete the rendezvous"};
  }
  return {"", completion_status_class::transport, ""};
}

}  // namespace detail

[[nodiscard]] constexpr static_string<48> to_text(completion_status status) noexcept {
  return detail::name_or_number(detail::describe(status).name, static_cast<std::uint32_t>(status));
}
[[nodiscard]] constexpr completion_status_class class_of(completion_status status) noexcept {
  return detail::describe(status).kind;
}
/// Returns a hint about the cause of this status; may be empty.
[[nodiscard]] constexpr std::string_view hint_for(completion_status status) noexcept {
  return detail::describe(status).hint;
}

/// Returns the error category of completion_status.
[[nodiscard, gnu::visibility("default")]] const std::error_category& completion_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(completion_status status) noexcept {
  return {static_cast<int>(status), completion_category()};
}

}  // namespace adverb::inline ADVERB_ABI

template <>
struct std::is_error_code_enum<adverb::completion_status> : std::true_type {};

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/status.ipp>
#endif
