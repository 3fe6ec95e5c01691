// SPDX-License-Identifier: MIT
// The states of a queue pair, and what becomes of the requests in each. The table is the one of the
// InfiniBand specification, written down a second time: what it shared with the library's could not
// show a mistake in that.
#include <algorithm>
#include <deque>

#include "rules.hpp"

namespace fake {
namespace {

constexpr int access_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int key_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int peer = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int retries =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int rtr_extras = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int rts_extras =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int sqd_extras =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
constexpr int key_change = IBV_QP_CUR_STATE | IBV_QP_QKEY;

struct rule {
  ibv_qp_type type;
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

constexpr rule rules[]{
    {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, access_init, 0},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0, access_init},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, peer | responder, rtr_extras},
    {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | retries,
     rts_extras | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0, rts_extras | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, 0, sqd_extras | IBV_QP_PORT | retries | responder},
    {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, 0, rts_extras | IBV_QP_MIN_RNR_TIMER},

    {IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, access_init, 0},
    {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_INIT, 0, access_init},
    {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, peer, rtr_extras},
    {IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, rts_extras},
    {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_RTS, 0, rts_extras},
    {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_SQD, 0, sqd_extras},
    {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_RTS, 0, rts_extras},
    {IBV_QPT_UC, IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},

    {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, key_init, 0},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0, key_init},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, key_change},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, key_change},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_RTS, 0, key_change},
    {IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, 0, key_change},

    {IBV_QPT_RAW_PACKET, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, 0},
    {IBV_QPT_RAW_PACKET, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0},
    {IBV_QPT_RAW_PACKET, IBV_QPS_RTR, IBV_QPS_RTS, 0, IBV_QP_RATE_LIMIT},
    {IBV_QPT_RAW_PACKET, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_RATE_LIMIT},

    {IBV_QPT_XRC_SEND, IBV_QPS_RESET, IBV_QPS_INIT, access_init, 0},
    {IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_INIT, 0, access_init},
    {IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, peer, rtr_extras},
    {IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | retries, rts_extras},
    {IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_QPS_RTS, 0, rts_extras},
    {IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_SQD, 0, sqd_extras | IBV_QP_PORT | retries},
    {IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_RTS, 0, rts_extras},

    {IBV_QPT_XRC_RECV, IBV_QPS_RESET, IBV_QPS_INIT, access_init, 0},
    {IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_INIT, 0, access_init},
    {IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, peer | responder, rtr_extras},
    {IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT,
     rts_extras | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_XRC_RECV, IBV_QPS_RTS, IBV_QPS_RTS, 0, rts_extras | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_XRC_RECV, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPT_XRC_RECV, IBV_QPS_SQD, IBV_QPS_SQD, 0,
     sqd_extras | IBV_QP_PORT | IBV_QP_TIMEOUT | responder},
    {IBV_QPT_XRC_RECV, IBV_QPS_SQD, IBV_QPS_RTS, 0, rts_extras | IBV_QP_MIN_RNR_TIMER},
};

bool is_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int given) {
  // Driver-specific queue pairs are not checked.
  if (type == IBV_QPT_DRIVER) return true;
  if (to == IBV_QPS_RESET) return given == 0;
  if (to == IBV_QPS_ERR) return given == 0;
  const auto* const found = std::find_if(std::begin(rules), std::end(rules), [&](const rule& each) {
    return each.type == type && each.from == from && each.to == to;
  });
  return found != std::end(rules) && (given & found->required) == found->required &&
         (given & ~(found->required | found->optional)) == 0;
}

// Providers round up. This one does it far enough for a test that only looks at what is posted.
struct capacities {
  std::size_t requests;
  std::size_t elements;
  std::size_t inline_bytes;
};
capacities send_capacities(const ibv_qp_cap& asked) {
  return {std::max(asked.max_send_wr, 64U), std::max(asked.max_send_sge, 4U),
          std::max(asked.max_inline_data, 64U)};
}
capacities receive_capacities(const ibv_qp_cap& asked) {
  return {std::max(asked.max_recv_wr, 64U), std::max(asked.max_recv_sge, 4U), 0};
}

std::size_t inline_bytes(const ibv_send_wr& request) {
  std::size_t bytes = 0;
  if ((request.send_flags & IBV_SEND_INLINE) != 0)
    for (int index = 0; index < request.num_sge; ++index) bytes += request.sg_list[index].length;
  return bytes;
}
std::size_t inline_bytes(const ibv_recv_wr&) { return 0; }

void flush(const ibv_qp* pair, ibv_cq* queue, std::deque<std::uint64_t>& ids) {
  const std::deque<std::uint64_t> flushed = std::exchange(ids, {});
  for (const std::uint64_t id : flushed) {
    ibv_wc completion{};
    completion.wr_id = id;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    completion.qp_num = pair->qp_num;
    current().complete(queue, completion);
  }
}

template <class Native>
int take(std::deque<std::uint64_t>& ids, const capacities& room, bool may_post, Native* first,
         Native** bad) {
  for (Native* each = first; each != nullptr; each = each->next) {
    *bad = each;
    if (!may_post || each->num_sge < 0 || static_cast<std::size_t>(each->num_sge) > room.elements ||
        inline_bytes(*each) > room.inline_bytes)
      return EINVAL;
    if (ids.size() == room.requests) return ENOMEM;
    ids.push_back(each->wr_id);
  }
  *bad = nullptr;
  return 0;
}

void finish(std::deque<std::uint64_t>& ids, std::uint64_t id) {
  if (const auto found = std::find(ids.begin(), ids.end(), id); found != ids.end())
    ids.erase(ids.begin(), found + 1);
}

}  // namespace

int refusal_of(const ibv_qp& pair, const ibv_qp_attr& attributes, int mask) {
  const bool says_from = (mask & IBV_QP_CUR_STATE) != 0;
  const ibv_qp_state from = says_from ? attributes.cur_qp_state : pair.state;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : from;
  if (from != pair.state || !is_allowed(pair.qp_type, from, to, mask & ~IBV_QP_STATE))
    return EINVAL;
  if ((mask & IBV_QP_PORT) != 0 && port_of(pair.context, attributes.port_num) == nullptr)
    return EINVAL;
  return (mask & IBV_QP_AV) != 0 ? refusal_of(pair.context, attributes.ah_attr) : 0;
}

void follow_state(ibv_qp* pair) {
  queue_pair& found = current().internals().pairs.at(pair);
  if (pair->state == IBV_QPS_ERR) {
    flush(pair, pair->send_cq, found.posted_sends);
    flush(pair, pair->recv_cq, found.posted_receives);
  } else if (pair->state == IBV_QPS_RESET) {
    found.posted_sends.clear();
    found.posted_receives.clear();
  }
}

int take_requests(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
  queue_pair& found = current().internals().pairs.at(pair);
  const bool may_post = pair->state >= IBV_QPS_RTS;
  const int error =
      take(found.posted_sends, send_capacities(found.init_attributes.cap), may_post, first, bad);
  follow_state(pair);
  return error;
}

int take_requests(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad) {
  queue_pair& found = current().internals().pairs.at(pair);
  const int error = take(found.posted_receives, receive_capacities(found.init_attributes.cap),
                         pair->state != IBV_QPS_RESET, first, bad);
  follow_state(pair);
  return error;
}

void finish_requests(const ibv_cq* queue, const ibv_wc& completion) {
  for (auto& [native, pair] : current().internals().pairs) {
    if (native->qp_num != completion.qp_num) continue;
    if (native->send_cq == queue) finish(pair->posted_sends, completion.wr_id);
    if (native->recv_cq == queue) finish(pair->posted_receives, completion.wr_id);
  }
}

}  // namespace fake
