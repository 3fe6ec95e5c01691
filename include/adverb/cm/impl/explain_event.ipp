// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/detail/explain_event.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC int errno_of(const cm::event& event) noexcept {
  if (event.status() == failed_in_librdmacm) return EIO;
  if (event.status() == -ETIMEDOUT) return EHOSTUNREACH;
  if (event.status() < 0) return -event.status();
  if (event.is_rejection()) return ECONNREFUSED;
  switch (event.type()) {
    case cm::event_type::unreachable: return EHOSTUNREACH;
    case cm::event_type::disconnected: return ECONNRESET;
    case cm::event_type::device_removal: return ENODEV;
    default: return ECONNABORTED;
  }
}

ADVERB_FUNC void explain_address_error(text_writer& writer, const cm::event& event) {
  const cm::socket_address peer = event.identifier().peer_address();
  if (event.status() == -ENODEV)
    explain_no_device_towards(writer, peer);
  else if (event.status() == -ENETUNREACH)
    writer.put("this machine has no route to ").put(peer.with_port(0));
  else
    writer.put("no neighbour answers for ").put(peer.with_port(0));
}

ADVERB_FUNC void put_words(text_writer& writer, const cm::private_data& said) {
  const std::optional<std::string_view> words = said.text();
  if (!words) return;
  for (const char each : *words)
    if (static_cast<unsigned char>(each) < ' ' || each == '\x7f') return;
  writer.put(": \"").put(*words).put("\"");
}

ADVERB_FUNC void explain_event(text_writer& writer, const cm::event& event) {
  if (event.is_rejection()) {
    writer.put(event.type() == cm::event_type::rejected ? "the peer rejected the connection: "
                                                        : "the peer gave no queue pair: ");
    writer.put(event.reason());
    put_words(writer, event.private_data());
    return;
  }
  if (event.status() == failed_in_librdmacm) {
    writer.put(event.type() == cm::event_type::multicast_error
                   ? "librdmacm could not attach the queue pair to the group"
               : event.type() == cm::event_type::connect_error
                   ? "librdmacm could not bring the queue pair up"
                   : "librdmacm could not ask the kernel for the outcome");
    return;
  }
  switch (event.type()) {
    case cm::event_type::unreachable:
      writer.put("no answer from the peer: ").put(why_no_answer);
      return;
    case cm::event_type::address_error: explain_address_error(writer, event); return;
    case cm::event_type::route_error: writer.put("there is no route to the address"); return;
    case cm::event_type::multicast_error:
      writer.put("the group was not joined, or one that was joined before is lost");
      return;
    case cm::event_type::disconnected:
      writer.put(event.status() == 0 ? "the peer disconnected meanwhile"
                                     : "the peer did not answer the end of the connection");
      return;
    case cm::event_type::device_removal: writer.put("the device was removed"); return;
    default: writer.put("the answer was: ").put(event.type());
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
