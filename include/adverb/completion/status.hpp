// SPDX-License-Identifier: MIT
// Completion statuses: an error category, with a class and a hint for each status.
#pragma once

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
  constexpr std::string_view names = "success|local|remote|transport|flushed";
  const auto number = static_cast<std::uint8_t>(kind);
  return detail::listed_name_or_number(names, number);
}

[[nodiscard]] constexpr static_string<48> to_text(completion_status status) noexcept {
  constexpr std::string_view names =
      "success|local length error|local queue pair operation error|local EE context operation "
      "error|local protection error|flushed|memory window bind error|bad response|local access "
      "error|remote invalid request|remote access error|remote operation error|transport retries "
      "exceeded|receiver-not-ready retries exceeded|local RDD violation|remote invalid RD request|"
      "remote aborted|invalid EE context number|invalid EE context state|fatal error|response "
      "timeout|general error|tag matching error|tag matching rendezvous incomplete";
  return detail::listed_name_or_number(names, static_cast<std::uint32_t>(status));
}
/// Returns the class of a status.
[[nodiscard]] constexpr completion_status_class class_of(completion_status status) noexcept {
  // The initial of the class of each status.
  constexpr std::string_view classes = "sllllfltlrrrtrlrrtttttll";
  const auto number = static_cast<std::uint32_t>(status);
  switch (number < classes.size() ? classes[number] : 't') {
    case 's': return completion_status_class::success;
    case 'l': return completion_status_class::local;
    case 'r': return completion_status_class::remote;
    case 'f': return completion_status_class::flushed;
    default: return completion_status_class::transport;
  }
}
/// Returns a hint about the cause of this status; may be empty.
[[nodiscard]] constexpr std::string_view hint_for(completion_status status) noexcept {
  constexpr std::string_view hints =
      "|"
      "possible causes: the receive is too short for its message, or the message is too long for "
      "the transport|"
      "possible causes: a buffer of another protection domain than the queue pair's, a closed "
      "region, a wrong lkey or length, or (on Soft-RoCE) a receive that is too short for its "
      "message||"
      "possible causes: the region of a buffer is closed, is of another protection domain than the "
      "queue pair's, or lacks local_write|"
      "the queue pair is in ERR; possible causes: an earlier request failed (its completion has "
      "the cause), a request of the peer was refused (no completion has the cause), or the program "
      "or "
      "the connection ended it|"
      "possible causes: the window is still bound, its key was not restored after a failed bind, "
      "or queue pair, window and region do not match|"
      "the responder sent an unexpected response|"
      "a peer's request violated the protection of local memory|"
      "possible causes: the peer's receive is too short for the message, or its queue pair does "
      "not allow this operation (allow(...) of its init())|"
      "the peer's memory does not grant the access; possible causes: a wrong or revoked key, or a "
      "wrong range, right or protection domain|"
      "the peer could not complete the operation; possible causes: its receive is too short for "
      "the message (on Soft-RoCE), or its memory is gone because its program is ending|"
      "the peer does not answer; possible causes: it is gone, its queue pair is not ready to "
      "receive, or the GID, "
      "GID index, queue pair number or first packet sequence number is wrong; or (on Soft-RoCE) "
      "it posted no receive for too long|"
      "the peer has no receive posted|||"
      "the peer aborted the operation|||"
      "the device failed: open it again|"
      "the peer does not answer|"
      "the vendor error has the cause|"
      "a tag matching operation failed|"
      "the software has to complete the rendezvous";
  return detail::listed_name(hints, static_cast<std::uint32_t>(status));
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
