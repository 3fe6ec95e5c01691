// SPDX-License-Identifier: MIT
// The types of send windows and reservations.
#include <type_traits>
#include <utility>

#include <adverb/adverb.hpp>

using namespace adverb;

static_assert(std::is_same_v<decltype(send_window{queue_pair_ref<transport::rc>{}}),
                             send_window<queue_pair_ref<transport::rc>>>);
static_assert(
    std::is_same_v<decltype(send_window{std::declval<const queue_pair<transport::ud>&>()}),
                   send_window<queue_pair_ref<transport::ud>>>);
static_assert(std::is_same_v<decltype(send_window{extended_sender<transport::rc>{}}),
                             send_window<extended_sender<transport::rc>>>);
static_assert(!std::is_copy_constructible_v<send_window<queue_pair_ref<transport::rc>>>);
static_assert(std::is_nothrow_move_constructible_v<send_window<queue_pair_ref<transport::rc>>>);
static_assert(!std::is_copy_constructible_v<completion_reservation>);
static_assert(std::is_nothrow_move_constructible_v<completion_reservation>);
// Returned in registers.
static_assert(sizeof(send_window_result) == 16 && std::is_trivially_copyable_v<send_window_result>);
// Only a window reports that it is full.
template <class Result>
concept can_be_made_full = requires(const ibv_qp* pair) { Result::of_full(pair, 1U, 2U); } ||
                           requires(const ibv_qp* pair) { Result::full(pair, 1U, 2U); };
static_assert(!can_be_made_full<send_window_result>);
