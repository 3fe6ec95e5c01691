// SPDX-License-Identifier: MIT
// Posting: builds work requests on the stack, links them, and posts them with one doorbell.
//
// `post` and `post_receives_to` check the requests and choose the queue. `post_to` passes on to
// `post_requests`, which builds the C structs, or to `post_prepared`, which has them. Both end in
// `post_chain`, which calls the provider.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/memory/detail/known_regions.hpp>
#include <adverb/request/post_result.hpp>
#include <adverb/request/postable.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the number of requests that a failed post accepted. Some providers set `*bad` to null on
/// failure. A call that the provider does not have leaves it unwritten; it is not read then,
/// because it may be uninitialised. Every other failure writes it, according to ibv_post_send(3).
template <class Request>
[[nodiscard, gnu::cold, gnu::noinline]] std::uint32_t accepted_before(const Request* first,
                                                                      Request* const* bad,
                                                                      int error) noexcept {
  if (is_unsupported(error)) return 0;
  std::uint32_t accepted = 0;
  for (; first != nullptr && first != *bad; first = first->next) ++accepted;
  return first == nullptr ? post_result::unknown : accepted;
}

/// The same for a post of one request. Needs no address, which would have to be kept in a register
/// across the call of the provider.
template <class Request>
[[nodiscard, gnu::always_inline]] inline std::uint32_t accepted_of_one(Request* const& bad,
                                                                       int error) noexcept {
  return !is_unsupported(error) && bad == nullptr ? post_result::unknown : 0;
}

/// Returns the errno of a failed post: some providers return it negative, and one returns 0.
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

/// Notifies a request, if it needs it, that it was accepted, with the provider's changes.
template <class Request, class Native>
constexpr void tell_accepted(const Request& request, const Native& native, bool accepted) noexcept {
  if constexpr (requires { request.accepted(native); })
    if (accepted) request.accepted(native);
}

/// Returns the shape of the first request of a chain that was not accepted.
template <class Request>
[[nodiscard, gnu::cold, gnu::noinline]] request_shape shape_of_refused(
    const Request* first, std::uint32_t accepted) noexcept {
  for (; first != nullptr && accepted > 0; --accepted) first = first->next;
  return first == nullptr ? request_shape::unknown : shape_of(*first);
}

// Posting is always inlined. Otherwise the known request values would be written to memory and read
// back by a function.
// See docs/decisions.md, "Posting is always inlined".

/// Posts a chain of `count` requests with one doorbell. `Shape` is that of a single request if its
/// type determines it; then its address need not be kept across the call.
///
/// If the call returns 0, only a later request can have been refused (siw's call returns the result
/// of its doorbell). So for a single request `bad` has no meaning unless the post failed. If the
/// failed call may leave `bad` unwritten, a single request counts as refused, and for several
/// requests the number of accepted ones is unknown.
// See docs/decisions.md, "A single post checks the return value only".
template <class Queue, bool JustOne, request_shape Shape = request_shape::unknown>
[[nodiscard, gnu::always_inline]] inline post_result post_chain(
    typename Queue::object_type* object, typename Queue::native_request* first,
    std::uint32_t count) noexcept {
  require_present(verb_of(Queue::kind), object);
  if constexpr (hardened(ADVERB_HARDENING_DEBUG))
    require_regions_of(object->pd, verb_of(Queue::kind), first);
  typename Queue::native_request* bad;
  if constexpr (!JustOne)
    bad = nullptr;
  else if constexpr (requires { Queue::may_leave_bad_request; })
    bad = first;
  before_post_to(Queue::completes_on(object));
  const int result = Queue::post(object, first, &bad);
  if (result != 0 || (!JustOne && bad != nullptr)) [[unlikely]] {
    const int error = error_of_post(result);
    // Clang does not infer this, and would test the result of a successful post once more.
    if (error == 0) __builtin_unreachable();
    if constexpr (JustOne) {
      const request_shape shape = Shape == request_shape::unknown ? shape_of(*first) : Shape;
      return {object, error, accepted_of_one(bad, error), Queue::kind, shape};
    } else {
      const std::uint32_t accepted =
          accepted_before<typename Queue::native_request>(first, &bad, error);
      return {object, error, accepted, Queue::kind, shape_of_refused(first, accepted)};
    }
  }
  return {object, 0, count, Queue::kind};
}

/// Builds the C structs of requests on the stack and posts them.
template <class Queue, std::size_t... Index, class... Requests>
[[nodiscard, gnu::always_inline]] inline post_result post_requests(
    typename Queue::object_type* object, std::index_sequence<Index...>,
    const Requests&... requests) noexcept {
  // The device reads copies of the elements. So the requests themselves never have to be in memory,
  // and the code is as short as the C that it replaces.
  // See docs/decisions.md, "A post copies the elements of its requests".
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

/// The shape of a prepared request; unknown for several.
template <class Prepared>
inline constexpr request_shape shape_of_prepared = request_shape::unknown;
template <class Request>
inline constexpr request_shape shape_of_prepared<prepared_request<Request>> =
    prepared_request<Request>::shape;

/// Posts the C structs of prepared requests.
template <class Queue, class Prepared>
[[nodiscard, gnu::always_inline]] inline post_result post_prepared(
    typename Queue::object_type* object, const Prepared& prepared) noexcept {
  constexpr bool is_cut = requires { Prepared::is_cut_for_post; };
  const auto chain = prepared.chain();
  if (chain.first == nullptr) return {};
  const auto rest = chain.last->next;
  if constexpr (is_cut) chain.last->next = nullptr;
  const post_result result = post_chain<Queue, Prepared::is_just_one, shape_of_prepared<Prepared>>(
      object, chain.first, chain.count);
  if constexpr (is_cut) chain.last->next = rest;
  return result;
}

/// Posts requests, or prepared ones, to a queue that has them.
template <class Queue, class... Posted>
[[nodiscard, gnu::always_inline]] inline post_result post_to(typename Queue::object_type* object,
                                                             const Posted&... posted) noexcept {
  constexpr bool prepared = (is_prepared<Posted> && ...);
  constexpr bool plain = (!is_prepared<Posted> && ...);
  static_assert(prepared || plain,
                "prepared requests cannot be posted together with others: prepare them all as one "
                "batch, or post them in two calls");
  static_assert(!prepared || sizeof...(Posted) == 1,
                "separately prepared requests cannot be posted together: prepare them as a "
                "prepared_batch or a prepared_list");
  if constexpr (plain)
    return post_requests<Queue>(object, std::index_sequence_for<Posted...>{}, posted...);
  else if constexpr (prepared && sizeof...(Posted) == 1)
    return (post_prepared<Queue>(object, posted), ...);
  else
    return {object, EINVAL, 0, Queue::kind};
}

/// Posts receives to a queue that accepts only receives.
template <class Queue, class... Requests>
[[nodiscard, gnu::always_inline]] inline post_result post_receives_to(
    typename Queue::object_type* object, const Requests&... requests) noexcept {
  static_assert(sizeof...(Requests) > 0, "there is nothing to post");
  (check_not_linked<Requests>(), ...);
  constexpr bool all_receives = (requests_of<Requests>::all_receive && ...);
  static_assert(all_receives, "only receives can be posted here: receive(...)");
  if constexpr (all_receives)
    return post_to<Queue>(object, requests...);
  else
    return {object, EINVAL, 0, Queue::kind};
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
  static_assert(all_known,
                "only work requests can be posted: send(...), write(...), receive(...), ...");
  if constexpr (all_known) {
    static_assert(all_sends || all_receives,
                  "sends and receives go to different queues: post them in two calls");
    (check_all_postable<Transport, State>(requests_of<Requests>{}), ...);
  }
  if constexpr (all_receives)
    return post_to<receive_queue>(queue_pair, requests...);
  else if constexpr (all_sends)
    return post_to<send_queue>(queue_pair, requests...);
  else
    return {queue_pair, EINVAL, 0, posted_to::send_queue};
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
