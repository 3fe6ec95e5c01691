// SPDX-License-Identifier: MIT
// Why a step of a connection's life failed, from the event that told so.
#pragma once

#include <cerrno>
#include <system_error>

#include <adverb/cm/event.hpp>
#include <adverb/cm/explain_call.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The errno that stands for an event which ends what was under way.
[[nodiscard]] inline int errno_of(const cm::event& event) noexcept {
  if (event.status() < 0) return -event.status();
  switch (event.type()) {
    case cm::event_type::rejected: return ECONNREFUSED;
    case cm::event_type::unreachable: return EHOSTUNREACH;
    case cm::event_type::disconnected: return ECONNRESET;
    case cm::event_type::device_removal: return ENODEV;
    default: return ECONNABORTED;
  }
}

inline void explain_address_error(text_writer& writer, const cm::event& event) {
  const cm::socket_address peer = event.identifier().peer_address();
  if (event.status() == -ENODEV)
    explain_no_device_towards(writer, peer);
  else if (event.status() == -ENETUNREACH)
    writer.put("this machine has no route to ").put(peer.with_port(0));
  else
    writer.put("no neighbour answers for ").put(peer.with_port(0));
}

/// Says in words what an event means for whoever waited for another one.
inline void explain_event(text_writer& writer, const cm::event& event) {
  switch (event.type()) {
    case cm::event_type::rejected:
      writer.put("the peer rejected the connection: ").put(event.reason());
      return;
    case cm::event_type::unreachable:
      writer.put(
          "no answer from the peer: it is off, or a firewall or the route drops what is sent");
      return;
    case cm::event_type::address_error: explain_address_error(writer, event); return;
    case cm::event_type::route_error: writer.put("there is no route to the address"); return;
    case cm::event_type::disconnected:
      writer.put(event.status() == 0 ? "the peer disconnected meanwhile"
                                     : "the peer did not answer the end of the connection");
      return;
    case cm::event_type::device_removal: writer.put("the device was removed"); return;
    default: writer.put("the answer was: ").put(event.type());
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
