// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/request/queue_pair_state.hpp>

namespace adverb::inline ADVERB_ABI {

[[gnu::noinline]] ADVERB_FUNC ibv_qp_init_attr
queue_pair_options::native(transport service) const noexcept {
  const bool receives = detail::receives(service);
  return {.qp_context = user_context,
          .send_cq = (cq ? cq : send_cq).native_handle(),
          .recv_cq = (cq && receives ? cq : recv_cq).native_handle(),
          .srq = srq.native_handle(),
          .cap = {.max_send_wr = max_send_wr,
                  .max_recv_wr = receives ? max_recv_wr : 0,
                  .max_send_sge = max_send_sge,
                  .max_recv_sge = receives ? max_recv_sge : 0,
                  .max_inline_data = max_inline_data},
          .qp_type = static_cast<ibv_qp_type>(service),
          .sq_sig_all = signal_all_sends ? 1 : 0};
}

ADVERB_FUNC ibv_qp_init_attr_ex queue_pair_options::native_extended(transport service,
                                                                    ibv_pd* domain) const noexcept {
  const ibv_qp_init_attr plain = native(service);
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = plain.qp_context;
  extended.send_cq = plain.send_cq;
  extended.recv_cq = plain.recv_cq;
  extended.srq = plain.srq;
  extended.cap = plain.cap;
  extended.qp_type = plain.qp_type;
  extended.sq_sig_all = plain.sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = domain;
  if (!send_operations.empty()) {
    extended.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    extended.send_ops_flags = send_operations.bits();
  }
  if (!flags.empty() || source_queue_pair) {
    extended.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
    extended.create_flags = flags.bits();
  }
  if (source_queue_pair) {
    extended.create_flags |= IBV_QP_CREATE_SOURCE_QPN;
    extended.source_qpn = static_cast<std::uint32_t>(*source_queue_pair);
  }
  if (max_tso_header != 0) {
    extended.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    extended.max_tso_header = max_tso_header;
  }
  return extended;
}

}  // namespace adverb::inline ADVERB_ABI
