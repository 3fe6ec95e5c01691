// SPDX-License-Identifier: MIT
// The meaning of each event of librdmacm in each phase of an identifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <adverb/cm/event.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The phases of an identifier.
enum class cm_phase : std::uint8_t {
  resolving_address,
  resolving_route,
  connecting,
  accepting,
  listening,
  /// A group of multicast.
  joining,
  /// The connection is established, or the datagram service is found.
  connected,
};

enum class event_meaning : std::uint8_t {
  /// Neither completes nor fails the phase.
  nothing,
  /// Completes the phase.
  success,
  failure,
  /// The connection has ended.
  end,
};

struct event_row {
  cm::event_type type;
  /// By phase.
  std::array<event_meaning, 7> meanings;
};

// Follows the kernel (cma.c, Linux 6.1 to 7.3) and librdmacm (44 to 65).
//
// - Unreachable, without a step that awaits an answer: the hardware address of the neighbour has
//   changed (Linux 6.0 and later). The connection goes on.
// - Rejected, on a connection: the peer's process ended before its kernel took the last message of
//   the handshake. librdmacm moves the queue pair to ERR, and no other event follows.
// - Disconnected, while accepting: the peer connected and has disconnected since.
inline constexpr std::array event_table = [] {
  using enum event_meaning;
  using type = cm::event_type;
  // Resolving the address and the route; connecting, accepting; listening, joining; connected.
  return std::array{
      event_row{type::address_resolved,
                {success, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::address_error,
                {failure, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::route_resolved,
                {nothing, success, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::route_error, {nothing, failure, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::connect_request,
                {nothing, nothing, nothing, nothing, success, nothing, nothing}},
      event_row{type::connect_response,
                {nothing, nothing, success, nothing, nothing, nothing, nothing}},
      event_row{type::connect_error, {nothing, nothing, failure, failure, nothing, nothing, end}},
      event_row{type::unreachable, {nothing, nothing, failure, failure, nothing, nothing, nothing}},
      event_row{type::rejected, {nothing, nothing, failure, failure, nothing, nothing, end}},
      event_row{type::established, {nothing, nothing, success, success, nothing, nothing, nothing}},
      event_row{type::disconnected, {nothing, nothing, failure, success, nothing, nothing, end}},
      event_row{type::device_removal, {failure, failure, failure, failure, failure, failure, end}},
      event_row{type::multicast_join,
                {nothing, nothing, nothing, nothing, nothing, success, nothing}},
      event_row{type::multicast_error,
                {nothing, nothing, nothing, nothing, nothing, failure, nothing}},
      event_row{type::address_change,
                {nothing, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::timewait_exit,
                {nothing, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::address_info_resolved,
                {nothing, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::address_info_error,
                {nothing, nothing, nothing, nothing, nothing, nothing, nothing}},
      event_row{type::user, {nothing, nothing, nothing, nothing, nothing, nothing, nothing}},
  };
}();

/// Returns what a type of event means. One of a newer librdmacm means nothing.
[[nodiscard]] constexpr event_meaning meaning_of(cm::event_type type, cm_phase phase) noexcept {
  for (const event_row& each : event_table)
    if (each.type == type) return each.meanings[static_cast<std::size_t>(phase)];
  return event_meaning::nothing;
}

/// Returns what an event means: a success whose status is not 0 is a failure.
[[nodiscard]] inline event_meaning meaning_of(const cm::event& happened, cm_phase phase) noexcept {
  const event_meaning meaning = meaning_of(happened.type(), phase);
  return meaning == event_meaning::success && happened.status() != 0 ? event_meaning::failure
                                                                     : meaning;
}

}  // namespace adverb::inline ADVERB_ABI::detail
