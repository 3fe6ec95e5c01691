// SPDX-License-Identifier: MIT
// Says in a sentence where an attribute belongs, of a transition that does not take it.
#pragma once

#include <adverb/queue/attribute.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Of what one setter gives, which belongs to one of these groups.
template <qp_attributes Given>
constexpr void refuse_attribute() noexcept {
  using enum qp_attribute;
  constexpr auto is_one_of = [](qp_attributes group) { return Given.intersects(group); };
  static_assert(!is_one_of(port), "the port is chosen in INIT: call init().port(...)");
  static_assert(!is_one_of(source_gid),
                "the own GID is chosen in INIT, by pairs that announce themselves (not raw packet "
                "pairs): call init().gid(...)");
  static_assert(!is_one_of(pkey_index),
                "the partition is chosen in INIT or RTR, and not by raw packet pairs: call "
                "init().pkey_index(...)");
  static_assert(!is_one_of(access),
                "the peer's rights are granted in INIT, RTR or RTS, by connections only (RC, UC, "
                "XRC): call init().allow(...)");
  static_assert(!is_one_of(queue_key),
                "only datagram pairs (UD) have a queue key: call init().queue_key(...)");
  static_assert(!is_one_of(address | remote_queue_pair | rq_psn | path_mtu),
                "the peer and the way to it are given in RTR of connections (RC, UC, XRC): call "
                "rtr().remote(...); a datagram (UD) names its destination itself: "
                "send(...).to(destination)");
  static_assert(!is_one_of(max_destination_read_atomic | rnr_timer),
                "what the peer may ask for is limited in RTR of RC and of XRC targets: call "
                "rtr().max_destination_read_atomic(...) or rtr().rnr_timer(...)");
  static_assert(
      !is_one_of(acknowledge_timeout | retry_count | rnr_retry_count | max_initiator_read_atomic),
      "timeouts, retries and own reads are set in RTS of reliable connections (RC, XRC): "
      "call rts().retry_count(...) and so on");
  static_assert(!is_one_of(alternate_path | path_migration_state),
                "paths migrate of connections only (RC, UC, XRC): call rtr().alternate_path(...), "
                "then rts().path_migration(...)");
  static_assert(!is_one_of(current_state),
                "the state that is believed in is told in RTS, and not by raw packet pairs: call "
                "rts().current_state(...)");
  static_assert(!is_one_of(drain_notification),
                "the event is asked for when the send queue is to be drained: call "
                "drain().notify_when_drained()");
  static_assert(!is_one_of(rate_limit),
                "rates are limited of raw packet pairs, from RTR on: call rts().rate_limit(...)");
}

}  // namespace adverb::inline ADVERB_ABI::detail
