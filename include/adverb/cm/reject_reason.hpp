// SPDX-License-Identifier: MIT
// Reasons for a rejected connection.
#pragma once

#include <cstdint>
#include <string_view>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The reason of a rejection, with the codes of the InfiniBand specification (communication
/// management, "REJ reason codes"). iWARP has none: a rejection is `by_the_program` if it carries
/// private data, which only a program sends, else `unspecified`.
enum class reject_reason : std::uint16_t {
  unspecified = 0,
  no_queue_pair = 1,
  no_end_to_end_context = 2,
  no_resources = 3,
  timed_out = 4,
  unsupported = 5,
  invalid_communication_id = 6,
  invalid_communication_instance = 7,
  /// No program listens on this port.
  invalid_service_id = 8,
  invalid_transport = 9,
  /// The peer considers the queue pair still connected.
  stale_connection = 10,
  no_reliable_datagram_channel = 11,
  invalid_gid = 12,
  invalid_lid = 13,
  invalid_service_level = 14,
  invalid_traffic_class = 15,
  invalid_hop_limit = 16,
  invalid_packet_rate = 17,
  invalid_alternate_gid = 18,
  invalid_alternate_lid = 19,
  invalid_alternate_service_level = 20,
  invalid_alternate_traffic_class = 21,
  invalid_alternate_hop_limit = 22,
  invalid_alternate_packet_rate = 23,
  /// The peer redirects to another port or connection manager.
  port_and_manager_redirection = 24,
  port_redirection = 25,
  invalid_mtu = 26,
  insufficient_responder_resources = 27,
  /// The peer's program rejected.
  by_the_program = 28,
  invalid_rnr_retry_count = 29,
  duplicate_communication_id = 30,
  invalid_class_version = 31,
  invalid_flow_label = 32,
  invalid_alternate_flow_label = 33,
  /// The peer does not support the requested enhanced connection establishment (ECE) options.
  ece_not_supported = 35,
};

/// A rejection by the peer: its reason and private data.
struct rejection {
  /// The reason.
  reject_reason reason{};
  /// The private data that the peer sent with it.
  cm::private_data private_data;
};

/// Returns a phrase for a message: "nothing listens on that port". Empty for an unknown reason.
[[nodiscard]] constexpr std::string_view describe(reject_reason reason) noexcept {
  switch (reason) {
    case reject_reason::unspecified:
      return "possible causes: nothing listens on that port, or the program refused";
    case reject_reason::no_queue_pair: return "the peer has no queue pair left";
    case reject_reason::no_end_to_end_context: return "the peer has no end-to-end context left";
    case reject_reason::no_resources: return "the peer has no resources left";
    case reject_reason::timed_out: return "the peer timed out";
    case reject_reason::unsupported: return "the peer does not support the request";
    case reject_reason::invalid_communication_id:
      return "the peer has no record of this connection";
    case reject_reason::invalid_communication_instance:
      return "the peer has no record of this attempt to connect";
    case reject_reason::invalid_service_id: return "nothing listens on that port";
    case reject_reason::invalid_transport: return "the listener there serves another transport";
    case reject_reason::stale_connection:
      return "the peer still has a connection with this queue pair: wait and try again";
    case reject_reason::no_reliable_datagram_channel:
      return "the peer has no such reliable datagram channel";
    case reject_reason::invalid_gid: return "the peer does not have the requested GID";
    case reject_reason::invalid_lid: return "the peer does not have the requested LID";
    case reject_reason::invalid_service_level: return "the peer refuses the service level";
    case reject_reason::invalid_traffic_class: return "the peer refuses the traffic class";
    case reject_reason::invalid_hop_limit: return "the peer refuses the hop limit";
    case reject_reason::invalid_packet_rate: return "the peer refuses the packet rate";
    case reject_reason::invalid_alternate_gid:
      return "the peer does not have the GID of the alternate path";
    case reject_reason::invalid_alternate_lid:
      return "the peer does not have the LID of the alternate path";
    case reject_reason::invalid_alternate_service_level:
      return "the peer refuses the service level of the alternate path";
    case reject_reason::invalid_alternate_traffic_class:
      return "the peer refuses the traffic class of the alternate path";
    case reject_reason::invalid_alternate_hop_limit:
      return "the peer refuses the hop limit of the alternate path";
    case reject_reason::invalid_alternate_packet_rate:
      return "the peer refuses the packet rate of the alternate path";
    case reject_reason::port_and_manager_redirection:
    case reject_reason::port_redirection: return "the peer redirects the request to another port";
    case reject_reason::invalid_mtu: return "the peer's link has a smaller MTU";
    case reject_reason::insufficient_responder_resources:
      return "the peer does not allow that many reads and atomics in progress";
    case reject_reason::by_the_program: return "the peer's program refused";
    case reject_reason::invalid_rnr_retry_count:
      return "the peer refuses the receiver-not-ready retry count";
    case reject_reason::duplicate_communication_id: return "the peer already has this connection";
    case reject_reason::invalid_class_version:
      return "the peer uses another version of the connection protocol";
    case reject_reason::invalid_flow_label: return "the peer refuses the flow label";
    case reject_reason::invalid_alternate_flow_label:
      return "the peer refuses the flow label of the alternate path";
    case reject_reason::ece_not_supported:
      return "the peer does not support the requested enhancements (ECE)";
  }
  return {};
}

/// Returns the phrase, or the number of a reason that is unknown to this version.
[[nodiscard]] constexpr static_string<96> to_text(reject_reason reason) noexcept {
  return static_string<96>{[reason](text_writer& writer) {
    const std::string_view words = describe(reason);
    if (words.empty())
      writer.put("reason ").decimal(static_cast<std::uint16_t>(reason));
    else
      writer.put(words);
  }};
}

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Converts a status of the datagram protocol (service ID resolution, SIDR) to a reason.
[[nodiscard]] constexpr cm::reject_reason reason_of_datagrams(int status) noexcept {
  switch (status) {
    case 1: return cm::reject_reason::invalid_service_id;
    case 2: return cm::reject_reason::by_the_program;
    case 3: return cm::reject_reason::no_queue_pair;
    case 4: return cm::reject_reason::port_and_manager_redirection;
    case 5: return cm::reject_reason::invalid_class_version;
    default: return cm::reject_reason::unspecified;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
