// SPDX-License-Identifier: MIT
// The attributes that each transition of each transport requires and accepts.
#pragma once

#include <array>
#include <cstddef>

#include <adverb/queue/attribute.hpp>
#include <adverb/request/queue_pair_state.hpp>

namespace adverb::inline ADVERB_ABI {

/// The attributes that a transition requires, and those that are optional (without the state).
struct transition_attributes {
  /// The attributes that the transition needs.
  qp_attributes required;
  /// The attributes that it accepts.
  qp_attributes optional;
};

namespace detail {

/// One row of the table in the InfiniBand specification ("QP State Transition Properties").
struct transition_rule {
  transport service;
  qp_state from;
  qp_state to;
  transition_attributes attributes;
};

[[nodiscard]] consteval auto make_transition_rules() noexcept {
  using enum qp_attribute;
  using enum qp_state;
  using enum transport;

  constexpr qp_attributes none{};
  constexpr qp_attributes port_and_access = pkey_index | port | access;
  constexpr qp_attributes port_and_key = pkey_index | port | queue_key;

  constexpr qp_attributes peer = address | path_mtu | remote_queue_pair | rq_psn;
  constexpr qp_attributes responder = max_destination_read_atomic | rnr_timer;
  constexpr qp_attributes connection = alternate_path | access | pkey_index;

  constexpr qp_attributes requester =
      acknowledge_timeout | retry_count | rnr_retry_count | sq_psn | max_initiator_read_atomic;
  constexpr qp_attributes path = alternate_path | access | path_migration_state;
  constexpr qp_attributes live = current_state | path;

  // A drained send queue has nothing in flight, so that nearly all attributes can change.
  constexpr qp_attributes drained = address | path | pkey_index;
  constexpr qp_attributes drained_requester = port | drained | acknowledge_timeout | retry_count |
                                              rnr_retry_count | max_initiator_read_atomic;

  return std::array{
      transition_rule{rc, reset, init, {port_and_access, none}},
      transition_rule{uc, reset, init, {port_and_access, none}},
      transition_rule{xrc_send, reset, init, {port_and_access, none}},
      transition_rule{xrc_recv, reset, init, {port_and_access, none}},
      transition_rule{ud, reset, init, {port_and_key, none}},
      transition_rule{raw_packet, reset, init, {port, none}},

      transition_rule{rc, init, init, {none, port_and_access}},
      transition_rule{uc, init, init, {none, port_and_access}},
      transition_rule{xrc_send, init, init, {none, port_and_access}},
      transition_rule{xrc_recv, init, init, {none, port_and_access}},
      transition_rule{ud, init, init, {none, port_and_key}},

      transition_rule{rc, init, rtr, {peer | responder, connection}},
      transition_rule{uc, init, rtr, {peer, connection}},
      transition_rule{xrc_send, init, rtr, {peer, connection}},
      transition_rule{xrc_recv, init, rtr, {peer | responder, connection}},
      transition_rule{ud, init, rtr, {none, pkey_index | queue_key}},
      transition_rule{raw_packet, init, rtr, {none, none}},

      transition_rule{rc, rtr, rts, {requester, live | rnr_timer}},
      transition_rule{uc, rtr, rts, {sq_psn, live}},
      transition_rule{xrc_send, rtr, rts, {requester, live}},
      transition_rule{xrc_recv, rtr, rts, {acknowledge_timeout | sq_psn, live | rnr_timer}},
      transition_rule{ud, rtr, rts, {sq_psn, current_state | queue_key}},
      transition_rule{raw_packet, rtr, rts, {none, rate_limit}},

      transition_rule{rc, rts, rts, {none, live | rnr_timer}},
      transition_rule{uc, rts, rts, {none, live}},
      transition_rule{xrc_send, rts, rts, {none, live}},
      transition_rule{xrc_recv, rts, rts, {none, live | rnr_timer}},
      transition_rule{ud, rts, rts, {none, current_state | queue_key}},
      transition_rule{raw_packet, rts, rts, {none, rate_limit}},

      transition_rule{rc, rts, sqd, {none, drain_notification}},
      transition_rule{uc, rts, sqd, {none, drain_notification}},
      transition_rule{xrc_send, rts, sqd, {none, drain_notification}},
      transition_rule{xrc_recv, rts, sqd, {none, drain_notification}},
      transition_rule{ud, rts, sqd, {none, drain_notification}},

      transition_rule{rc, sqd, sqd, {none, drained_requester | responder}},
      transition_rule{uc, sqd, sqd, {none, drained}},
      transition_rule{xrc_send, sqd, sqd, {none, drained_requester}},
      transition_rule{xrc_recv, sqd, sqd, {none, port | drained | acknowledge_timeout | responder}},
      transition_rule{ud, sqd, sqd, {none, pkey_index | queue_key}},

      transition_rule{rc, sqd, rts, {none, live | rnr_timer}},
      transition_rule{uc, sqd, rts, {none, live}},
      transition_rule{xrc_send, sqd, rts, {none, live}},
      transition_rule{xrc_recv, sqd, rts, {none, live | rnr_timer}},
      transition_rule{ud, sqd, rts, {none, current_state | queue_key}},

      transition_rule{uc, sqe, rts, {none, current_state | access}},
      transition_rule{ud, sqe, rts, {none, current_state | queue_key}},
  };
}

inline constexpr auto transition_rules = make_transition_rules();

/// Returns the index of the rule for a transition, or the number of all rules if there is none.
[[nodiscard]] constexpr std::size_t find_transition(transport service, qp_state from,
                                                    qp_state to) noexcept {
  std::size_t index = 0;
  for (const transition_rule& rule : transition_rules) {
    if (rule.service == service && rule.from == from && rule.to == to) break;
    ++index;
  }
  return index;
}

/// Returns true if every state has a transition to this one.
[[nodiscard]] constexpr bool is_always_reached(qp_state state) noexcept {
  return state == qp_state::reset || state == qp_state::error;
}

}  // namespace detail

/// Returns true if the transition exists; from a state to itself if an attribute can change in it.
[[nodiscard]] constexpr bool is_transition(transport service, qp_state from, qp_state to) noexcept {
  if (from == qp_state::any || to == qp_state::any) return detail::is_always_reached(to);
  return service == transport::driver || detail::is_always_reached(to) ||
         detail::find_transition(service, from, to) != detail::transition_rules.size();
}

/// Returns the attributes that a transition requires and accepts according to the InfiniBand
/// specification; for raw packets those that Linux accepts, for the driver transport all. RESET and
/// ERR accept none.
[[nodiscard]] constexpr transition_attributes attributes_of(transport service, qp_state from,
                                                            qp_state to) noexcept {
  if (detail::is_always_reached(to)) return {};
  if (service == transport::driver)
    return {{}, qp_attributes::from_bits((IBV_QP_DEST_QPN << 1) - 1) | qp_attribute::rate_limit};
  const std::size_t found = detail::find_transition(service, from, to);
  return found == detail::transition_rules.size() ? transition_attributes{}
                                                  : detail::transition_rules[found].attributes;
}

namespace detail {

/// A transition with its row of the table. It is a constant, which avoids a search of the table
/// when a queue pair is set up.
struct transition_step {
  transport service;
  qp_state from;
  qp_state to;
  transition_attributes attributes = attributes_of(service, from, to);
};

}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
