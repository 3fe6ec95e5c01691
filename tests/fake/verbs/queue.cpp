// SPDX-License-Identifier: MIT
// Address handles and queue pairs.
#include "posting.hpp"
#include "rules.hpp"

using namespace fake;

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
  if (refused<called::create_ah>(about(domain).add("attr", fake::show(*attributes))))
    return nullptr;
  if (const int error = fake::refusal_of(domain->context, *attributes)) {
    errno = error;
    return nullptr;
  }
  auto& state = current().internals();
  auto made = std::make_unique<ibv_ah>(ibv_ah{domain->context, domain, ++state.last_handle});
  ibv_ah* const native = made.get();
  state.address_handles.add(std::move(made), native);
  return native;
}

int ibv_destroy_ah(ibv_ah* handle) {
  if (const int error = errno_of<called::destroy_ah>(about(handle))) return error;
  current().internals().address_handles.remove(handle);
  return 0;
}

namespace {

ibv_qp* make_pair(ibv_context* context, ibv_pd* domain, const ibv_qp_init_attr& attributes) {
  if (const int error = fake::refusal_of(context, attributes)) {
    errno = error;
    return nullptr;
  }
  auto& state = current().internals();
  auto made = std::make_unique<fake::queue_pair>();
  made->init_attributes = attributes;
  ibv_qp& native = made->native.qp_base;
  native.context = context;
  native.qp_context = attributes.qp_context;
  native.pd = domain;
  native.send_cq = attributes.send_cq;
  native.recv_cq = attributes.recv_cq;
  native.srq = attributes.srq;
  native.handle = ++state.last_handle;
  native.qp_num = ++state.last_qp_number;
  native.state = IBV_QPS_RESET;
  native.qp_type = attributes.qp_type;
  state.pairs.add(std::move(made), &native);
  return &native;
}

}  // namespace

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (refused<called::create_qp>(about(domain).members(fake::show(*attributes)))) return nullptr;
  return make_pair(domain->context, domain, *attributes);
}

int ibv_destroy_qp(ibv_qp* pair) {
  if (const int error = errno_of<called::destroy_qp>(about(pair))) return error;
  current().internals().pairs.remove(pair);
  return 0;
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* given, int mask) {
  if (const int error =
          errno_of<called::modify_qp>(about(pair).members(fake::show(*given, mask)), {*given}))
    return error;
  if (const int error = fake::refusal_of(*pair, *given, mask)) return error;
  ibv_qp_attr& known = current().internals().pairs.at(pair).attributes;
  const auto take = [&](int bit, auto member) {
    if ((mask & bit) != 0) known.*member = given->*member;
  };
  take(IBV_QP_STATE, &ibv_qp_attr::qp_state);
  take(IBV_QP_CUR_STATE, &ibv_qp_attr::cur_qp_state);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, &ibv_qp_attr::en_sqd_async_notify);
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_ah_attr);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_pkey_index);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_port_num);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_timeout);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_PATH_MIG_STATE, &ibv_qp_attr::path_mig_state);
  take(IBV_QP_CAP, &ibv_qp_attr::cap);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  take(IBV_QP_RATE_LIMIT, &ibv_qp_attr::rate_limit);
  if ((mask & IBV_QP_STATE) != 0) pair->state = given->qp_state;
  fake::follow_state(pair);
  return 0;
}

int ibv_query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) {
  if (const int error = errno_of<called::query_qp>(
          about(pair).add("attr_mask", bits(static_cast<unsigned>(mask), {{0x21fffff, "all"}}))))
    return error;
  const fake::queue_pair& found = current().internals().pairs.at(pair);
  *attributes = found.attributes;
  attributes->qp_state = pair->state;
  attributes->cap = found.init_attributes.cap;
  *init = found.init_attributes;
  return 0;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* pair) {
  fake::queue_pair& found = current().internals().pairs.at(pair);
  return found.extended ? &found.native : nullptr;
}

int ibv_query_ece(ibv_qp* pair, ibv_ece* options) {
  if (const int error = errno_of<called::query_ece>(about(pair))) return error;
  *options = current().internals().pairs.at(pair).enhancements;
  return 0;
}

int ibv_set_ece(ibv_qp* pair, ibv_ece* options) {
  if (const int error = errno_of<called::set_ece>(about(pair).members(fake::show(*options))))
    return error;
  options->options &= 0xff;  // It has no others.
  current().internals().pairs.at(pair).enhancements = *options;
  return 0;
}

int ibv_query_qp_data_in_order(ibv_qp* pair, ibv_wr_opcode operation, std::uint32_t flags) {
  record<called::query_qp_data_in_order>(
      about(pair).add("op", fake::operation(operation)).add("flags", hex(flags)));
  return operation == IBV_WR_RDMA_WRITE ? 1 : 0;
}

namespace fake {
namespace {

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* given) {
  if (refused<called::create_qp_ex>(about(context).members(fake::show(*given)))) return nullptr;
  const bool has_domain = (given->comp_mask & IBV_QP_INIT_ATTR_PD) != 0;
  ibv_qp* const made = make_pair(context, has_domain ? given->pd : nullptr,
                                 {.qp_context = given->qp_context,
                                  .send_cq = given->send_cq,
                                  .recv_cq = given->recv_cq,
                                  .srq = given->srq,
                                  .cap = given->cap,
                                  .qp_type = given->qp_type,
                                  .sq_sig_all = given->sq_sig_all});
  if (made == nullptr) return nullptr;
  if ((given->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    queue_pair& pair = current().internals().pairs.at(made);
    pair.extended = true;
    install_extended_sending(pair.native, given->send_ops_flags);
  }
  return made;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* given) {
  const auto has = [&](unsigned bit) { return (given->comp_mask & bit) != 0; };
  if (refused<called::open_qp>(
          about(context)
              .add_or_stray(has(IBV_QP_OPEN_ATTR_NUM), "qp_num", hex(given->qp_num))
              .add_or_stray(has(IBV_QP_OPEN_ATTR_XRCD), "xrcd", name_of(given->xrcd))
              .add_or_stray(has(IBV_QP_OPEN_ATTR_CONTEXT), "qp_context", name_of(given->qp_context))
              .add_or_stray(has(IBV_QP_OPEN_ATTR_TYPE), "qp_type", pair_type(given->qp_type))
              .unknown_bits(given->comp_mask, 0xf)))
    return nullptr;
  for (const auto& [native, pair] : current().internals().pairs) {
    if (native->qp_num != given->qp_num || native->qp_type != given->qp_type) continue;
    ibv_qp_init_attr attributes{};
    attributes.qp_context = given->qp_context;
    attributes.qp_type = given->qp_type;
    ibv_qp* const opened = make_pair(context, nullptr, attributes);
    opened->qp_num = given->qp_num;
    opened->state = IBV_QPS_UNKNOWN;
    return opened;
  }
  errno = EINVAL;
  return nullptr;
}

int modify_qp_rate_limit(ibv_qp* pair, ibv_qp_rate_limit_attr* attributes) {
  return errno_of<called::modify_qp_rate_limit>(
      about(pair)
          .add("rate_limit", attributes->rate_limit)
          .add("max_burst_sz", attributes->max_burst_sz)
          .add("typical_pkt_sz", attributes->typical_pkt_sz)
          .add_unless_zero("comp_mask", hex(attributes->comp_mask)));
}

int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
  const int result = answer<called::post_send>(pair, copy_of(first), first, bad, pair->qp_type);
  return result != 0 || *bad != nullptr ? result : take_requests(pair, first, bad);
}
int post_recv(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad) {
  const int result = answer<called::post_recv>(pair, copy_of(first), first, bad);
  return result != 0 || *bad != nullptr ? result : take_requests(pair, first, bad);
}

}  // namespace

void install_queue_operations(verbs_context& context) {
  context.context.ops.post_send = post_send;
  context.context.ops.post_recv = post_recv;
  context.create_qp_ex = create_qp_ex;
  context.open_qp = open_qp;
  context.modify_qp_rate_limit = modify_qp_rate_limit;
}

}  // namespace fake
