// SPDX-License-Identifier: MIT
// Prepared requests are values, no larger than what the device reads.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <adverb/adverb.hpp>

namespace {

using namespace adverb;

using write_request = decltype(write(remote_buffer<>{}, const_buffer{}, const_buffer{}));
using receive_one = decltype(receive(mutable_buffer{}));

static_assert(sizeof(prepared_request<write_request>) == sizeof(ibv_send_wr) + 2 * sizeof(ibv_sge));
static_assert(sizeof(prepared_request<receive_one>) == sizeof(ibv_recv_wr) + sizeof(ibv_sge));
static_assert(sizeof(prepared_request<decltype(local_invalidate(rkey{}))>) == sizeof(ibv_send_wr));
static_assert(sizeof(prepared_batch<write_request, write_request>) ==
              2 * sizeof(prepared_request<write_request>));

template <class T>
inline constexpr bool is_value =
    std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_copy_assignable_v<T> &&
    std::is_trivially_destructible_v<T>;
static_assert(is_value<prepared_request<write_request>> && is_value<prepared_request<receive_one>>);
static_assert(is_value<prepared_batch<write_request, write_request>>);
// It points into itself: bytes are no copy of it.
static_assert(!std::is_trivially_copyable_v<prepared_request<write_request>>);

static_assert(std::is_copy_constructible_v<prepared_list<write_request>>);
static_assert(std::is_nothrow_move_constructible_v<prepared_list<write_request>>);
static_assert(std::is_nothrow_move_assignable_v<prepared_list<write_request>>);

using refill = receive_refill<queue_pair_ref<transport::rc>>;
static_assert(std::is_nothrow_move_constructible_v<refill> &&
              !std::is_copy_constructible_v<refill>);

// A request is changed where it has a name: no reference is kept to one that is about to die.
template <class T>
concept changes = requires { std::declval<T>().id(1); };
static_assert(changes<prepared_request<write_request>&> &&
              !changes<prepared_request<write_request>> &&
              !changes<const prepared_request<write_request>&>);

template <transport Transport, qp_state State, class Posted>
inline constexpr bool postable = can_post<queue_pair_ref<Transport, State>, Posted>;
static_assert(postable<transport::rc, qp_state::rts, prepared_request<write_request>>);
static_assert(!postable<transport::ud, qp_state::rts, prepared_request<write_request>>);
static_assert(!postable<transport::rc, qp_state::init, prepared_list<write_request>>);
static_assert(postable<transport::rc, qp_state::init, prepared_list<receive_one>>);
static_assert(postable<transport::uc, qp_state::rts, prepared_batch<write_request, write_request>>);
static_assert(!postable<transport::rc, qp_state::rts, linked_request<write_request>>);

}  // namespace
