// SPDX-License-Identifier: MIT
// The state of a queue pair, and the operations that a transport carries.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// The state of a queue pair. In a type, the state that the program last set; the device may have
/// moved the queue pair to `error` by itself.
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
  /// In a type only: a queue pair that goes through several states.
  any = 255,
};

[[nodiscard]] constexpr static_string<48> to_text(qp_state state) noexcept {
  constexpr std::string_view names = "RESET|INIT|RTR|RTS|SQD|SQE|ERR|unknown";
  const auto number = static_cast<std::uint32_t>(state);
  if (state == qp_state::any) return detail::name_or_number("any", number);
  return detail::listed_name_or_number(names, number);
}

namespace detail {

/// Returns true if a transport has a receive queue.
[[nodiscard]] constexpr bool receives(transport service) noexcept {
  return service != transport::xrc_send && service != transport::xrc_recv;
}

/// The service that an operation needs from the transport.
enum class service_class : std::uint8_t {
  /// A plain message: every transport that sends.
  message,
  /// A message with 32 bits of immediate data: not raw packets.
  message_with_immediate,
  /// Segmentation of one message into packets: datagrams and raw packets.
  segmentation,
  connection,
  reliable_connection,
};

/// Returns true if a transport carries an operation.
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
