// SPDX-License-Identifier: MIT
// Queue pairs: their sizes and how they move. work_requests.cpp has the requests that they take.
#include <type_traits>
#include <utility>

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

// Requests are values that can be kept.
using send_type = decltype(send(mutable_buffer{}));
static_assert(std::is_trivially_copyable_v<send_type>);
static_assert(std::is_trivially_copyable_v<
              decltype(std::declval<send_type>().to(std::declval<datagram_destination>()))>);
static_assert(std::is_trivially_copyable_v<decltype(receive(mutable_buffer{}))>);
static_assert(sizeof(post_result) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<post_result>);

}  // namespace
