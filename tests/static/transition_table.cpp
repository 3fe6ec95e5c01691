// SPDX-License-Identifier: MIT
// The table of transitions against one written apart from it, from the InfiniBand specification
// (volume 1, "QP State Transition Properties"), in the bits of the C API.
#include <infiniband/verbs.h>

#include <adverb/queue/attribute.hpp>

using namespace adverb;

namespace {

constexpr bool is(transport service, qp_state from, qp_state to, unsigned required,
                  unsigned optional) {
  const transition_attributes found = attributes_of(service, from, to);
  return found.required.bits() == required && found.optional.bits() == optional;
}
using enum qp_state;
using enum transport;

static_assert(is(rc, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0));
static_assert(is(uc, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0));
static_assert(is(ud, reset, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0));

static_assert(is(rc, init, rtr,
                 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                 IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX));
static_assert(is(uc, init, rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                 IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX));
static_assert(is(ud, init, rtr, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY));

static_assert(is(rc, rtr, rts,
                 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC,
                 IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
                     IBV_QP_PATH_MIG_STATE));
static_assert(is(uc, rtr, rts, IBV_QP_SQ_PSN,
                 IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE));
static_assert(is(ud, rtr, rts, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY));

consteval bool take_nothing(qp_state to) {
  for (const transport service : {rc, uc, ud})
    for (const qp_state from : {reset, init, rtr, rts, sqd, sqe, error})
      if (!is(service, from, to, 0, 0)) return false;
  return true;
}
static_assert(take_nothing(reset));
static_assert(take_nothing(error));

}  // namespace
