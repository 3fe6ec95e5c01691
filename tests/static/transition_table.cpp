// SPDX-License-Identifier: MIT
// The table of transitions against one written apart from it, from the InfiniBand specification
// (volume 1, "QP State Transition Properties"), in the bits of the C API.
#include <infiniband/verbs.h>

#include <adverb/queue/transition_table.hpp>

using namespace adverb;

namespace {

constexpr bool is(transport service, qp_state from, qp_state to, unsigned required,
                  unsigned optional) {
  const transition_attributes found = attributes_of(service, from, to);
  return found.required.bits() == required && found.optional.bits() == optional;
}
using enum qp_state;
using enum transport;

constexpr unsigned access = IBV_QP_ACCESS_FLAGS;
constexpr unsigned state_and_path =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;

static_assert(is(rc, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access, 0));
static_assert(is(uc, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access, 0));
static_assert(is(xrc_send, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access, 0));
static_assert(is(xrc_recv, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access, 0));
static_assert(is(ud, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0));
static_assert(is(raw_packet, reset, init, IBV_QP_PORT, 0));

static_assert(is(rc, init, init, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access));
static_assert(is(uc, init, init, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access));
static_assert(is(xrc_send, init, init, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access));
static_assert(is(xrc_recv, init, init, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access));
static_assert(is(ud, init, init, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
static_assert(!is_transition(raw_packet, init, init));

static_assert(is(rc, init, rtr,
                 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                 IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX));
static_assert(is(uc, init, rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                 IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX));
static_assert(is(xrc_send, init, rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                 IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX));
static_assert(is(xrc_recv, init, rtr,
                 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                 IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX));
static_assert(is(ud, init, rtr, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY));
static_assert(is(raw_packet, init, rtr, 0, 0) && is_transition(raw_packet, init, rtr));

static_assert(is(rc, rtr, rts,
                 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC,
                 state_and_path | IBV_QP_MIN_RNR_TIMER));
static_assert(is(uc, rtr, rts, IBV_QP_SQ_PSN, state_and_path));
static_assert(is(xrc_send, rtr, rts,
                 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC,
                 state_and_path));
static_assert(is(xrc_recv, rtr, rts, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
                 state_and_path | IBV_QP_MIN_RNR_TIMER));
static_assert(is(ud, rtr, rts, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY));
static_assert(is(raw_packet, rtr, rts, 0, IBV_QP_RATE_LIMIT));

constexpr bool can_change_what_it_takes(qp_state from) {
  return is(rc, from, rts, 0, state_and_path | IBV_QP_MIN_RNR_TIMER) &&
         is(uc, from, rts, 0, state_and_path) && is(xrc_send, from, rts, 0, state_and_path) &&
         is(xrc_recv, from, rts, 0, state_and_path | IBV_QP_MIN_RNR_TIMER) &&
         is(ud, from, rts, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY);
}
static_assert(can_change_what_it_takes(rts) && can_change_what_it_takes(sqd));
static_assert(is(raw_packet, rts, rts, 0, IBV_QP_RATE_LIMIT));
static_assert(!is_transition(raw_packet, rts, sqd) && !is_transition(raw_packet, sqd, rts));

static_assert(is(rc, rts, sqd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY));
static_assert(is(uc, rts, sqd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY));
static_assert(is(ud, rts, sqd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY));
static_assert(is(xrc_send, rts, sqd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY));
static_assert(is(xrc_recv, rts, sqd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY));

static_assert(is(rc, sqd, sqd, 0,
                 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
                     access | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE));
static_assert(is(uc, sqd, sqd, 0,
                 IBV_QP_AV | IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE));
static_assert(is(xrc_send, sqd, sqd, 0,
                 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX |
                     IBV_QP_PATH_MIG_STATE));
static_assert(is(xrc_recv, sqd, sqd, 0,
                 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC |
                     IBV_QP_ALT_PATH | access | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
                     IBV_QP_PATH_MIG_STATE));
static_assert(is(ud, sqd, sqd, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY));

// Only the unreliable transports stop sending at an error and go on after it.
static_assert(is(uc, sqe, rts, 0, IBV_QP_CUR_STATE | access));
static_assert(is(ud, sqe, rts, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY));
static_assert(!is_transition(rc, sqe, rts) && !is_transition(xrc_send, sqe, rts));

static_assert(!is_transition(rc, reset, rts) && !is_transition(ud, init, rts));
static_assert(is_transition(driver, reset, rts) &&
              attributes_of(driver, reset, rts).optional.contains(qp_attribute::rate_limit));

consteval bool take_nothing(qp_state to) {
  for (const transport service : {rc, uc, ud, raw_packet, xrc_send, xrc_recv, driver})
    for (const qp_state from : {reset, init, rtr, rts, sqd, sqe, error})
      if (!is(service, from, to, 0, 0) || !is_transition(service, from, to)) return false;
  return true;
}
static_assert(take_nothing(reset));
static_assert(take_nothing(error));

}  // namespace
