// SPDX-License-Identifier: MIT
// Posting: work requests, lowered onto the stack, linked, and handed over with one doorbell.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/indexed_values.hpp>
#include <adverb/core/thread_sanitizer.hpp>
#include <adverb/queue/operations.hpp>
#include <adverb/queue/post_result.hpp>
#include <adverb/queue/transport.hpp>
#include <adverb/queue/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// How many requests were accepted by a post that failed. Providers differ: some make `*bad` null
/// although they failed, and a call that the provider does not have (EOPNOTSUPP) does not write it:
/// then it is not read, because it may hold no value. Every other failure writes it, as
/// ibv_post_send(3) says.
template <class Request>
[[nodiscard, gnu::cold, gnu::noinline]] std::uint32_t accepted_before(const Request* first,
                                                                      Request* const* bad,
                                                                      int error) noexcept {
  if (error == EOPNOTSUPP) return 0;
  std::uint32_t accepted = 0;
  for (; first != nullptr && first != *bad; first = first->next) ++accepted;
  return first == nullptr ? post_result::unknown : accepted;
}

/// The errno of a post that failed: some providers return it negative, and one returns 0.
[[nodiscard]] constexpr int error_of_post(int result) noexcept {
  return result == 0 ? EIO : result < 0 ? -result : result;
}

// The functions of each queue, so that posting is written once.
struct send_queue {
  using object_type = ibv_qp;
  using native_request = ibv_send_wr;
  static constexpr posted_to kind = posted_to::send_queue;
  static void* completes_on(const ibv_qp* queue_pair) noexcept { return queue_pair->send_cq; }
  static int post(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
    return ibv_post_send(queue_pair, first, bad);
  }
};
struct receive_queue {
  using object_type = ibv_qp;
  using native_request = ibv_recv_wr;
  static constexpr posted_to kind = posted_to::receive_queue;
  static void* completes_on(const ibv_qp* queue_pair) noexcept { return queue_pair->recv_cq; }
  static int post(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
    return ibv_post_recv(queue_pair, first, bad);
  }
};

/// Tells a request that it was accepted, as the provider left it, if it wants to know.
template <class Request, class Native>
constexpr void tell_accepted(const Request& request, const Native& native, bool accepted) noexcept {
  if constexpr (requires { request.accepted(native); })
    if (accepted) request.accepted(native);
}

// Posting is always inlined, or what is known of the requests would be written into memory, to be
// read back by a function.

/// Hands over requests that are linked, `count` of them, with one doorbell.
///
/// Only a later request can be refused by a call that returns 0 (siw's, which returns what its
/// doorbell returned): where there is just one, `bad` says nothing, unless the post failed.
template <class Queue, bool JustOne>
[[nodiscard, gnu::always_inline]] inline post_result post_chain(
    typename Queue::object_type* object, typename Queue::native_request* first,
    std::uint32_t count) noexcept {
  typename Queue::native_request* bad;
  if constexpr (!JustOne) bad = nullptr;
  before_post_to(Queue::completes_on(object));
  const int result = Queue::post(object, first, &bad);
  if (result != 0 || (!JustOne && bad != nullptr)) [[unlikely]] {
    const int error = error_of_post(result);
    return {object, error, accepted_before<typename Queue::native_request>(first, &bad, error),
            Queue::kind};
  }
  return {object, 0, count, Queue::kind};
}

template <class Queue, std::size_t... Index, class... Requests>
[[nodiscard, gnu::always_inline]] inline post_result post_to(typename Queue::object_type* object,
                                                             std::index_sequence<Index...>,
                                                             const Requests&... requests) noexcept {
  // The device reads the elements from copies: so the requests themselves never have to be in
  // memory, and this is as short as the C that it stands for.
  constexpr std::size_t count = sizeof...(Requests);
  typename Queue::native_request native[count];
  indexed_values<typename Requests::memory...> memory;
  (requests.fill(native[Index], Index + 1 < count ? &native[(Index + 1) % count] : nullptr,
                 value_at<Index>(memory)),
   ...);
  constexpr bool just_one = count == 1;
  const post_result result = post_chain<Queue, just_one>(object, native, count);
  (tell_accepted(requests, native[Index], Index < result.accepted().value_or(0)), ...);
  return result;
}

template <class Queue, class Prepared>
[[nodiscard, gnu::always_inline]] inline post_result post_prepared(
    typename Queue::object_type* object, const Prepared& prepared) noexcept {
  return prepared.hand_over([object](typename Queue::native_request* first, std::uint32_t count) {
    return post_chain<Queue, Prepared::is_just_one>(object, first, count);
  });
}

/// Posts requests, or what was prepared.
template <class Queue, class... Posted>
[[nodiscard, gnu::always_inline]] inline post_result post_either(
    typename Queue::object_type* object, const Posted&... posted) noexcept {
  constexpr bool prepared = (is_prepared<Posted> && ...);
  constexpr bool plain = (!is_prepared<Posted> && ...);
  static_assert(prepared || plain,
                "prepared requests cannot be posted together with others: prepare them all as one "
                "batch, or post them in two calls");
  static_assert(!prepared || sizeof...(Posted) == 1,
                "prepared requests are posted together when they were prepared together, as a "
                "prepared_batch or a prepared_list");
  if constexpr (plain)
    return post_to<Queue>(object, std::index_sequence_for<Posted...>{}, posted...);
  else if constexpr (prepared && sizeof...(Posted) == 1)
    return (post_prepared<Queue>(object, posted), ...);
  else
    return {object, EINVAL, 0, Queue::kind};
}

/// Says in a sentence that a request of a batch or list is not posted alone.
template <class T>
constexpr void check_not_linked() noexcept {
  static_assert(!is_linked<T>,
                "a request of a prepared batch or list is posted with it: post the batch, the "
                "list, or list.first(n)");
}

/// Posts receives to a queue that has nothing else.
template <class Queue, class... Requests>
[[nodiscard, gnu::always_inline]] inline post_result post_receives_to(
    typename Queue::object_type* object, const Requests&... requests) noexcept {
  static_assert(sizeof...(Requests) > 0, "there is nothing to post");
  (check_not_linked<Requests>(), ...);
  constexpr bool all_receives = (requests_of<Requests>::all_receive && ...);
  static_assert(all_receives, "only receives can be posted here: receive(…)");
  if constexpr (all_receives)
    return post_either<Queue>(object, requests...);
  else
    return {object, EINVAL, 0, Queue::kind};
}

[[nodiscard]] constexpr bool can_send_in(qp_state state) noexcept {
  return state == qp_state::rts || state == qp_state::sqd || state == qp_state::error;
}
[[nodiscard]] constexpr bool can_receive_in(qp_state state) noexcept {
  return state == qp_state::init || state == qp_state::rtr || state == qp_state::sqe ||
         can_send_in(state);
}

/// What a request needs of the transport: a fence waits for reads and atomics, which only RC has.
template <class Request>
[[nodiscard]] consteval service_class service_needed() noexcept {
  using operation = typename Request::operation_type;
  if constexpr (requires { operation::is_fenced; })
    return service_class::reliable_connection;
  else
    return service_of(operation::extended);
}

/// True of what is done on this side alone: the peer is not told, whichever it is.
template <class Request>
[[nodiscard]] consteval bool stays_here() noexcept {
  return requires { Request::operation_type::stays_here; };
}

/// Whether a request says of its destination what the transport wants to be told.
template <transport Transport, class Request>
inline constexpr bool has_right_destination =
    Transport == transport::driver ||
    Request::destination ==
        (stays_here<Request>() ? destination_kind::none : destination_of(Transport));

/// Whether a request suits a transport, whichever way it is posted.
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

/// Whether something takes a request: a queue pair here, other senders where they are.
template <class Sender, class Request>
inline constexpr bool takes = false;
template <class Pair, class Request>
  requires requires { Pair::state_of; }
inline constexpr bool takes<Pair, Request> =
    is_postable<Pair::transport_of, Pair::state_of, Request>();

/// Says in a sentence why a transport does not carry what needs this of it.
template <transport Transport, service_class Needed>
constexpr void check_carried() noexcept {
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
                "a raw packet queue pair can only send packets as they are, or segmented");
  static_assert(Transport != transport::xrc_recv || carried,
                "an XRC target sends nothing: its peer's initiator does");
}

/// Says in a sentence why a request cannot be sent.
template <transport Transport, qp_state State, class Request>
constexpr void check_sendable() noexcept {
  constexpr bool right_destination = has_right_destination<Transport, Request>;
  static_assert(can_send_in(State),
                "sends can be posted when the queue pair is ready to send: finish rts() first");
  check_carried<Transport, service_needed<Request>()>();
  static_assert(Transport != transport::ud || right_destination,
                "a datagram needs its destination: add .to(destination)");
  static_assert(Transport != transport::xrc_send || stays_here<Request>() || right_destination,
                "an XRC request needs the number of the peer's shared receive queue: add "
                ".to(number)");
  static_assert(!stays_here<Request>() || right_destination,
                "windows are bound and keys invalidated on this side: that has no destination");
  static_assert(destination_of(Transport) != destination_kind::none || stays_here<Request>() ||
                    right_destination,
                "only datagrams (UD) and XRC requests have a destination: this queue pair is "
                "connected to one");
}

/// Says in a sentence what to do about a state that the type does not know. True when it does.
template <qp_state State>
consteval bool check_known() noexcept {
  static_assert(
      State != qp_state::any,
      "say which state the queue pair is in: .as<qp_state::…>() or .assume<qp_state::…>()");
  return State != qp_state::any;
}

/// Says in a sentence why a request cannot be posted.
template <transport Transport, qp_state State, class Request>
constexpr void check_postable() noexcept {
  if constexpr (!check_known<State>()) {
    return;
  } else if constexpr (is_receive_request<Request>) {
    static_assert(can_receive_in(State),
                  "receives can be posted from INIT on: bring the queue pair up with init() first");
    static_assert(receives(Transport),
                  "an XRC queue pair has no receive queue: post to the shared receive queue");
  } else {
    check_sendable<Transport, State, Request>();
    static_assert(!needs_extended_sender<Request>(),
                  "this operation exists only in the extended calls: post it through extended()");
  }
}

template <transport Transport, qp_state State, class... Requests>
constexpr void check_all_postable(request_list<Requests...>) noexcept {
  (check_postable<Transport, State, Requests>(), ...);
}

/// Posts requests of one kind.
template <transport Transport, qp_state State, class... Requests>
[[nodiscard, gnu::always_inline]] inline post_result post(ibv_qp* queue_pair,
                                                          const Requests&... requests) noexcept {
  static_assert(sizeof...(Requests) > 0, "there is nothing to post");
  (check_not_linked<Requests>(), ...);
  constexpr bool all_receives = (requests_of<Requests>::all_receive && ...);
  constexpr bool all_sends = (requests_of<Requests>::all_send && ...);
  constexpr bool all_known =
      ((requests_of<Requests>::all_send || requests_of<Requests>::all_receive) && ...);
  static_assert(all_known, "only work requests can be posted: send(…), write(…), receive(…), …");
  if constexpr (all_known) {
    static_assert(all_sends || all_receives,
                  "sends and receives go to different queues: post them in two calls");
    (check_all_postable<Transport, State>(requests_of<Requests>{}), ...);
  }
  if constexpr (all_receives)
    return post_either<receive_queue>(queue_pair, requests...);
  else if constexpr (all_sends)
    return post_either<send_queue>(queue_pair, requests...);
  else
    return {queue_pair, EINVAL, 0, posted_to::send_queue};
}

}  // namespace detail

/// Whether `sender.post(request)` compiles, of a queue pair or of an extended sender: for generic
/// code.
template <class Sender, class Request>
concept can_post = detail::takes<Sender, Request>;

}  // namespace adverb::inline ADVERB_ABI
