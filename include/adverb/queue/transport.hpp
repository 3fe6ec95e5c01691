// SPDX-License-Identifier: MIT
// What a queue pair is: its transport, and the state that it was last put in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// The state of a queue pair. In a type it is the state that the program last put the pair in; the
/// device may have moved on to `error` by itself.
enum class qp_state : std::uint32_t {
  reset = IBV_QPS_RESET,
  /// Receives can be posted.
  init = IBV_QPS_INIT,
  /// Ready to receive.
  rtr = IBV_QPS_RTR,
  /// Ready to send.
  rts = IBV_QPS_RTS,
  /// Send queue drained.
  sqd = IBV_QPS_SQD,
  /// Send queue error.
  sqe = IBV_QPS_SQE,
  error = IBV_QPS_ERR,
  unknown = IBV_QPS_UNKNOWN,
  /// Of a type only: a pair that lives through several states.
  any = 255,
};

[[nodiscard]] constexpr static_string<48> to_text(qp_state state) noexcept {
  constexpr std::array<std::string_view, 8> names{"RESET", "INIT", "RTR", "RTS",
                                                  "SQD",   "SQE",  "ERR", "unknown"};
  const auto number = static_cast<std::uint32_t>(state);
  if (state == qp_state::any) return detail::name_or_number("any", number);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

namespace detail {

/// Whether a transport has a receive queue.
[[nodiscard]] constexpr bool receives(transport service) noexcept {
  return service != transport::xrc_send && service != transport::xrc_recv;
}

/// What an operation needs of the transport.
enum class service_class : std::uint8_t {
  /// A message as it is: every transport that sends.
  message,
  /// One with 32 bits beside it: not raw packets.
  message_with_immediate,
  /// The cutting of one message into packets: datagrams and raw packets.
  segmentation,
  connection,
  reliable_connection,
};

/// Whether a transport carries an operation.
[[nodiscard]] constexpr bool carries(transport service, service_class needed) noexcept {
  switch (service) {
    case transport::rc:
    case transport::xrc_send: return needed != service_class::segmentation;
    case transport::uc:
      return needed != service_class::reliable_connection && needed != service_class::segmentation;
    case transport::ud:
      return needed == service_class::message || needed == service_class::message_with_immediate ||
             needed == service_class::segmentation;
    case transport::raw_packet:
      return needed == service_class::message || needed == service_class::segmentation;
    case transport::xrc_recv: return false;
    case transport::driver: return true;
  }
  return false;
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
