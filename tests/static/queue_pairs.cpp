// SPDX-License-Identifier: MIT
// Queue pairs: their sizes, how they move, and what they take over the whole of transport x state x
// request.
#include <cstddef>
#include <span>
#include <type_traits>

#include <adverb/adverb.hpp>

using namespace adverb;

namespace {

template <transport Transport>
constexpr bool sizes_are_right =
    sizeof(queue_pair<Transport, qp_state::reset>) == sizeof(void*) &&
    sizeof(queue_pair<Transport, qp_state::init>) == 2 * sizeof(void*) &&
    sizeof(queue_pair<Transport, qp_state::rtr>) == 2 * sizeof(void*) &&
    sizeof(queue_pair<Transport, qp_state::rts>) ==
        (Transport == transport::ud ? 2 : 1) * sizeof(void*) &&
    sizeof(queue_pair<Transport, qp_state::error>) == sizeof(void*) &&
    sizeof(queue_pair<Transport, qp_state::any>) == 2 * sizeof(void*);
static_assert(sizes_are_right<transport::rc> && sizes_are_right<transport::uc> &&
              sizes_are_right<transport::ud> && sizes_are_right<transport::raw_packet> &&
              sizes_are_right<transport::xrc_send> && sizes_are_right<transport::xrc_recv>);

template <class Pair>
constexpr bool moves_and_does_not_copy =
    std::is_nothrow_default_constructible_v<Pair> && std::is_nothrow_move_constructible_v<Pair> &&
    std::is_nothrow_move_assignable_v<Pair> && !std::is_copy_constructible_v<Pair> &&
    !std::is_copy_assignable_v<Pair>;
static_assert(moves_and_does_not_copy<queue_pair<transport::rc, qp_state::reset>>);
static_assert(moves_and_does_not_copy<queue_pair<transport::uc, qp_state::init>>);
static_assert(moves_and_does_not_copy<queue_pair<transport::ud, qp_state::rtr>>);
static_assert(moves_and_does_not_copy<queue_pair<transport::rc>>);
static_assert(moves_and_does_not_copy<queue_pair<transport::rc, qp_state::any>>);

// Only `any` takes pairs of other states, and none takes other transports.
static_assert(std::is_nothrow_constructible_v<queue_pair<transport::rc, qp_state::any>,
                                              queue_pair<transport::rc, qp_state::init>>);
static_assert(std::is_nothrow_constructible_v<queue_pair<transport::rc, qp_state::any>,
                                              queue_pair<transport::rc>>);
static_assert(
    !std::is_constructible_v<queue_pair<transport::rc, qp_state::any>, queue_pair<transport::uc>>);
static_assert(
    !std::is_constructible_v<queue_pair<transport::rc, qp_state::any>, queue_pair<transport::rc>&>);
static_assert(
    !std::is_constructible_v<queue_pair<transport::rc>, queue_pair<transport::rc, qp_state::rtr>>);
static_assert(
    !std::is_constructible_v<queue_pair<transport::rc>, queue_pair<transport::rc, qp_state::any>>);

// References.
using rc_ref = queue_pair_ref<transport::rc>;
static_assert(sizeof(rc_ref) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<rc_ref>);
static_assert(std::is_constructible_v<rc_ref, queue_pair<transport::rc>&>);
static_assert(!std::is_constructible_v<rc_ref, queue_pair<transport::rc>>);
static_assert(!std::is_constructible_v<rc_ref, queue_pair<transport::uc>&>);
static_assert(!std::is_constructible_v<rc_ref, queue_pair<transport::rc, qp_state::rtr>&>);
static_assert(!std::is_constructible_v<rc_ref, ibv_qp*>);

using any_rc_ref = queue_pair_ref<transport::rc, qp_state::any>;
static_assert(std::is_constructible_v<any_rc_ref, queue_pair<transport::rc>&>);
static_assert(std::is_constructible_v<any_rc_ref, queue_pair<transport::rc, qp_state::rtr>&>);
static_assert(std::is_constructible_v<any_rc_ref, rc_ref>);
static_assert(!std::is_constructible_v<any_rc_ref, queue_pair<transport::rc>>);
static_assert(!std::is_constructible_v<any_rc_ref, queue_pair<transport::uc>&>);

// What can be posted, as a table of its own.
using remote_words =
    remote_buffer<std::uint64_t, access_right::remote_read | access_right::remote_write |
                                     access_right::remote_atomic>;
using send_type = decltype(send(mutable_buffer{}));
using immediate_type = decltype(send_with_immediate(immediate{}, const_buffer{}));
using write_type = decltype(write(remote_words{}, mutable_buffer{}));
using write_immediate_type = decltype(write_with_immediate(remote_words{}, immediate{}));
using read_type = decltype(read(remote_words{}, mutable_buffer{}));
using swap_type = decltype(compare_and_swap(remote_words{}, {}, mutable_buffer{}));
using add_type = decltype(fetch_and_add(remote_words{}, 1, mutable_buffer{}));
using segmented_type =
    decltype(send_segmented(std::span<const std::byte>{}, 1000, mutable_buffer{}));
using atomic_write_type = decltype(atomic_write(remote_words{}, 1));
using receive_type = decltype(receive(mutable_buffer{}));
template <class Request>
using datagram = decltype(std::declval<Request>().to(std::declval<datagram_destination>()));

template <class Request>
using to_shared_queue =
    decltype(std::declval<Request>().to(std::declval<shared_receive_queue_number>()));

template <class Request, transport Transport>
consteval int states_that_take() {
  return (can_post<queue_pair<Transport, qp_state::reset>, Request> ? 1 : 0) +
         (can_post<queue_pair<Transport, qp_state::init>, Request> ? 2 : 0) +
         (can_post<queue_pair<Transport, qp_state::rtr>, Request> ? 4 : 0) +
         (can_post<queue_pair<Transport, qp_state::rts>, Request> ? 8 : 0) +
         (can_post<queue_pair<Transport, qp_state::sqd>, Request> ? 16 : 0) +
         (can_post<queue_pair<Transport, qp_state::sqe>, Request> ? 32 : 0) +
         (can_post<queue_pair<Transport, qp_state::error>, Request> ? 64 : 0) +
         (can_post<queue_pair<Transport, qp_state::any>, Request> ? 128 : 0);
}
constexpr int never = 0;
constexpr int when_ready = 8 + 16 + 64;
constexpr int from_init_on = 2 + 4 + 8 + 16 + 32 + 64;

template <class Request>
consteval bool taken(int rc, int uc, int ud) {
  return states_that_take<Request, transport::rc>() == rc &&
         states_that_take<Request, transport::uc>() == uc &&
         states_that_take<Request, transport::ud>() == ud;
}

static_assert(taken<receive_type>(from_init_on, from_init_on, from_init_on));
static_assert(taken<send_type>(when_ready, when_ready, never));
static_assert(taken<immediate_type>(when_ready, when_ready, never));
static_assert(taken<write_type>(when_ready, when_ready, never));
static_assert(taken<write_immediate_type>(when_ready, when_ready, never));
static_assert(taken<read_type>(when_ready, never, never));
static_assert(taken<swap_type>(when_ready, never, never));
static_assert(taken<add_type>(when_ready, never, never));
static_assert(taken<datagram<send_type>>(never, never, when_ready));
static_assert(taken<datagram<immediate_type>>(never, never, when_ready));
static_assert(taken<datagram<write_type>>(never, never, never));
static_assert(taken<datagram<read_type>>(never, never, never));
static_assert(taken<int>(never, never, never));
static_assert(taken<mutable_buffer>(never, never, never));

template <class Request>
consteval bool taken_by_others(int raw_packet, int xrc_send, int xrc_recv, int driver) {
  return states_that_take<Request, transport::raw_packet>() == raw_packet &&
         states_that_take<Request, transport::xrc_send>() == xrc_send &&
         states_that_take<Request, transport::xrc_recv>() == xrc_recv &&
         states_that_take<Request, transport::driver>() == driver;
}

static_assert(taken_by_others<receive_type>(from_init_on, never, never, from_init_on));
static_assert(taken_by_others<send_type>(when_ready, never, never, when_ready));
static_assert(taken_by_others<segmented_type>(when_ready, never, never, when_ready));
static_assert(taken_by_others<immediate_type>(never, never, never, when_ready));
static_assert(taken_by_others<read_type>(never, never, never, when_ready));
static_assert(taken_by_others<to_shared_queue<send_type>>(never, when_ready, never, when_ready));
static_assert(taken_by_others<to_shared_queue<read_type>>(never, when_ready, never, when_ready));
static_assert(taken_by_others<datagram<send_type>>(never, never, never, when_ready));
static_assert(taken<to_shared_queue<send_type>>(never, never, never));
static_assert(taken<segmented_type>(never, never, never));
static_assert(taken<datagram<segmented_type>>(never, never, when_ready));
// Only the extended calls have it.
static_assert(taken<atomic_write_type>(never, never, never));
static_assert(taken_by_others<atomic_write_type>(never, never, never, never));

// The same through a reference.
static_assert(can_post<rc_ref, send_type> && !can_post<rc_ref, datagram<send_type>>);

// Requests are values that can be kept.
static_assert(std::is_trivially_copyable_v<send_type>);
static_assert(std::is_trivially_copyable_v<datagram<send_type>>);
static_assert(std::is_trivially_copyable_v<receive_type>);
static_assert(sizeof(post_result) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<post_result>);

}  // namespace
