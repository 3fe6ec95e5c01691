// SPDX-License-Identifier: MIT
// The requests that can be posted, by transport, by state, and by engine.
#pragma once

#include <type_traits>

#include <adverb/request/destination.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <adverb/request/send_operation.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

[[nodiscard]] constexpr bool can_send_in(qp_state state) noexcept {
  return state == qp_state::rts || state == qp_state::sqd || state == qp_state::error;
}
[[nodiscard]] constexpr bool can_receive_in(qp_state state) noexcept {
  return state == qp_state::init || state == qp_state::rtr || state == qp_state::sqe ||
         can_send_in(state);
}

/// Returns the service class that a request needs. A fence waits for reads and atomics: RC only.
template <class Request>
[[nodiscard]] consteval service_class service_needed() noexcept {
  using operation = typename Request::operation_type;
  if constexpr (requires { operation::is_fenced; })
    return service_class::reliable_connection;
  else
    return operation::traits::service;
}

/// True if a request acts on this side only and has no destination at the peer.
template <class Request>
inline constexpr bool stays_here = Request::operation_type::traits::stays_here;

/// True if a request names the kind of destination that the transport needs.
template <transport Transport, class Request>
inline constexpr bool has_right_destination =
    Transport == transport::driver ||
    Request::destination ==
        (stays_here<Request> ? destination_kind::none : destination_of(Transport));

/// Returns true if a request suits a transport, through any engine.
template <transport Transport, class Request>
[[nodiscard]] consteval bool suits() noexcept {
  return carries(Transport, service_needed<Request>()) && has_right_destination<Transport, Request>;
}

template <transport Transport, qp_state State, class Request>
[[nodiscard]] consteval bool is_request_postable() noexcept {
  if constexpr (is_receive_request<Request>)
    return can_receive_in(State) && receives(Transport);
  else if constexpr (is_send_request<Request>)
    return can_send_in(State) && suits<Transport, Request>() && !needs_extended_sender<Request>();
  else
    return false;
}

template <transport Transport, qp_state State, class... Requests>
[[nodiscard]] consteval bool are_postable(request_list<Requests...>) noexcept {
  return (is_request_postable<Transport, State, Requests>() && ...);
}
template <transport Transport, qp_state State, class Posted>
[[nodiscard]] consteval bool is_postable() noexcept {
  return are_postable<Transport, State>(requests_of<Posted>{});
}

/// True if a sender accepts a request. Other senders specialise it elsewhere. A class, because the
/// EDG front end (nvcc, IntelliSense) rejects constraints on a specialised variable.
template <class Sender, class Request>
struct takes : std::false_type {};
template <class Pair, class Request>
  requires requires { Pair::state_of; }
struct takes<Pair, Request>
    : std::bool_constant<is_postable<Pair::transport_of, Pair::state_of, Request>()> {};

/// Rejects at compile time a request of a batch or list that is posted alone.
template <class T>
consteval void check_not_linked() noexcept {
  static_assert(!is_linked<T>,
                "a request of a prepared batch or list cannot be posted separately: post the "
                "batch, the list, or list.first(n)");
}

/// Rejects at compile time a transport that does not provide what a request needs.
template <transport Transport, service_class Needed>
consteval void check_carried() noexcept {
  constexpr bool segmented = Needed == service_class::segmentation;
  constexpr bool carried = carries(Transport, Needed);
  static_assert(Transport == transport::xrc_recv || !segmented || carried,
                "only datagrams (UD) and raw packets can be sent segmented");
  static_assert(Transport != transport::ud || carried,
                "a UD queue pair can only send: writes need UC or RC, reads, "
                "atomics and fences need RC");
  static_assert(Transport != transport::uc || segmented || carried,
                "a UC queue pair can send and write: reads, atomics and fences need RC");
  static_assert(Transport != transport::raw_packet || carried,
                "a raw packet queue pair supports only plain and segmented sends");
  static_assert(Transport != transport::xrc_recv || carried,
                "an XRC target cannot send: only an initiator can, transport::xrc_send");
}

/// Rejects at compile time a request that cannot be sent.
template <transport Transport, qp_state State, class Request>
consteval void check_sendable() noexcept {
  constexpr bool right_destination = has_right_destination<Transport, Request>;
  static_assert(
      can_send_in(State),
      "sends can be posted when the queue pair is ready to send: finish rts() or connect() first");
  check_carried<Transport, service_needed<Request>()>();
  static_assert(Transport != transport::ud || right_destination,
                "a datagram needs its destination: add .to(destination)");
  static_assert(Transport != transport::xrc_send || stays_here<Request> || right_destination,
                "an XRC request needs the number of the peer's shared receive queue: add "
                ".to(number)");
  static_assert(!stays_here<Request> || right_destination,
                "bind_window and local_invalidate are local operations without a destination: "
                "remove .to(...)");
  static_assert(destination_of(Transport) != destination_kind::none || stays_here<Request> ||
                    right_destination,
                "only datagrams (UD) and XRC requests have a destination: remove .to(...)");
}

/// Rejects an unknown state at compile time. Returns true if it is known.
template <qp_state State>
consteval bool check_known() noexcept {
  static_assert(State != qp_state::any,
                "the type of the queue pair has no state: call .as<qp_state::...>() or "
                ".assume<qp_state::...>()");
  return State != qp_state::any;
}

/// Rejects at compile time a request that cannot be posted.
template <transport Transport, qp_state State, class Request>
consteval void check_postable() noexcept {
  if constexpr (!check_known<State>()) {
    return;
  } else if constexpr (is_receive_request<Request>) {
    static_assert(can_receive_in(State),
                  "receives can be posted only from INIT on: finish init() first");
    static_assert(receives(Transport),
                  "an XRC queue pair has no receive queue: post to the shared receive queue");
  } else if constexpr (requires { Request::is_chained; }) {
    static_assert(can_send_in(State),
                  "a chain can be posted when the queue pair is ready to send: finish rts() or "
                  "connect() first");
    static_assert(
        suits<Transport, Request>(),
        "the chain holds requests for another transport: send_chain<capacity, transport>");
  } else {
    check_sendable<Transport, State, Request>();
    static_assert(!needs_extended_sender<Request>(),
                  "this operation exists only in the extended calls: post it through extended()");
  }
}

template <transport Transport, qp_state State, class... Requests>
consteval void check_all_postable(request_list<Requests...>) noexcept {
  (check_postable<Transport, State, Requests>(), ...);
}

}  // namespace detail

/// True if `sender.post(request)` compiles, for a queue pair or an extended sender.
template <class Sender, class Request>
concept can_post = detail::takes<Sender, Request>::value;

}  // namespace adverb::inline ADVERB_ABI
