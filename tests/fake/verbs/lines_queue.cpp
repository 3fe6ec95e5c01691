// SPDX-License-Identifier: MIT
// The lines of address handles, queue pairs, shared receive queues and work queues.
#include <cstring>

#include "../calls.hpp"
#include "../render.hpp"

namespace fake::called {

namespace {

std::string_view inside(const shown& braces) {
  return std::string_view{braces.text}.substr(1, braces.text.size() - 2);
}

shown show(const ibv_wc& completion) {
  return fields{}
      .add_unless_zero("wr_id", completion.wr_id)
      .add_unless_zero("wc_flags", bits(completion.wc_flags, {{IBV_WC_GRH, "GRH"},
                                                              {IBV_WC_WITH_IMM, "WITH_IMM"},
                                                              {IBV_WC_WITH_INV, "WITH_INV"}}))
      .add_unless_zero("src_qp", hex(completion.src_qp))
      .add_unless_zero("slid", hex(completion.slid))
      .add_unless_zero("sl", completion.sl)
      .add_unless_zero("dlid_path_bits", completion.dlid_path_bits)
      .in_braces();
}

std::string requests_line(std::string_view function, const void* queue, const auto& requests,
                          auto... type) {
  const std::string shown = show_all(requests, type...);
  return fields{function}.object(queue).text() + (shown.empty() ? "" : ": ") + shown;
}

std::string show(const posted<ibv_ops_wr>& operation) {
  const ibv_ops_wr& wr = operation.wr;
  const shown opcode = enumerator(
      wr.opcode,
      {{IBV_WR_TAG_ADD, "TAG_ADD"}, {IBV_WR_TAG_DEL, "TAG_DEL"}, {IBV_WR_TAG_SYNC, "TAG_SYNC"}});
  fields text{opcode.text};
  text.add_unless_zero("wr_id", id(wr.wr_id))
      .add_unless_zero("flags",
                       bits(static_cast<unsigned>(wr.flags),
                            {{IBV_OPS_SIGNALED, "SIGNALED"}, {IBV_OPS_TM_SYNC, "TM_SYNC"}}))
      .add_unless_zero("unexpected_cnt", wr.tm.unexpected_cnt);
  if (wr.opcode == IBV_WR_TAG_DEL) text.add("handle", wr.tm.handle);
  if (wr.opcode == IBV_WR_TAG_ADD) {
    text.add_unless_zero("recv_wr_id", id(wr.tm.add.recv_wr_id))
        .add("tag", hex(wr.tm.add.tag))
        .add("mask", hex(wr.tm.add.mask));
    if (!operation.elements.empty()) text.word(elements_text(operation.elements));
  }
  return text.text();
}

shown work_queue_flags(std::uint32_t flags) {
  return bits(flags, {{IBV_WQ_FLAGS_CVLAN_STRIPPING, "CVLAN_STRIPPING"},
                      {IBV_WQ_FLAGS_SCATTER_FCS, "SCATTER_FCS"},
                      {IBV_WQ_FLAGS_DELAY_DROP, "DELAY_DROP"},
                      {IBV_WQ_FLAGS_PCI_WRITE_END_PADDING, "PCI_WRITE_END_PADDING"}});
}

shown work_queue_state(ibv_wq_state state) {
  return enumerator(state, {{IBV_WQS_RESET, "RESET"},
                            {IBV_WQS_RDY, "RDY"},
                            {IBV_WQS_ERR, "ERR"},
                            {IBV_WQS_UNKNOWN, "UNKNOWN"}});
}

}  // namespace

std::string create_ah::line() const {
  return fields{"ibv_create_ah"}.object(domain).add("attr", fake::show(attributes)).text();
}
std::string init_ah_from_wc::line() const {
  return fields{"ibv_init_ah_from_wc"}
      .object(context)
      .add("port_num", port)
      .add("wc", show(completion))
      .add("grh", {hex_bytes(&header, sizeof header), false})
      .text();
}
std::string create_ah_from_wc::line() const {
  return fields{"ibv_create_ah_from_wc"}
      .object(domain)
      .add("wc", show(completion))
      .add("grh", {hex_bytes(&header, sizeof header), false})
      .add("port_num", port)
      .text();
}
std::string destroy_ah::line() const { return fields{"ibv_destroy_ah"}.object(handle).text(); }

std::string create_qp::line() const {
  return fields{"ibv_create_qp"}.object(domain).word(inside(fake::show(attributes))).text();
}
std::string create_qp_ex::line() const {
  return fields{"ibv_create_qp_ex"}.object(context).word(inside(fake::show(attributes))).text();
}
std::string modify_qp::line() const {
  return fields{"ibv_modify_qp"}.object(pair).word(inside(fake::show(attributes, mask))).text();
}
std::string query_qp::line() const {
  return fields{"ibv_query_qp"}
      .object(pair)
      .add("attr_mask", bits(static_cast<unsigned>(mask), {{0x21fffff, "all"}}))
      .text();
}
std::string destroy_qp::line() const { return fields{"ibv_destroy_qp"}.object(pair).text(); }
std::string attach_mcast::line() const {
  return fields{"ibv_attach_mcast"}
      .object(pair)
      .add("gid", fake::show(group))
      .add("lid", hex(lid))
      .text();
}
std::string detach_mcast::line() const {
  return fields{"ibv_detach_mcast"}
      .object(pair)
      .add("gid", fake::show(group))
      .add("lid", hex(lid))
      .text();
}
std::string post_send::line() const {
  return requests_line("ibv_post_send", pair, requests, pair->qp_type);
}
std::string post_recv::line() const { return requests_line("ibv_post_recv", pair, requests); }
std::string wr_start::line() const { return fields{"ibv_wr_start"}.object(pair).text(); }
std::string wr_complete::line() const { return requests_line("ibv_wr_complete", pair, requests); }
std::string wr_abort::line() const { return requests_line("ibv_wr_abort", pair, requests); }
std::string modify_qp_rate_limit::line() const {
  return fields{"ibv_modify_qp_rate_limit"}
      .object(pair)
      .add("rate_limit", attributes.rate_limit)
      .add("max_burst_sz", attributes.max_burst_sz)
      .add("typical_pkt_sz", attributes.typical_pkt_sz)
      .add_unless_zero("comp_mask", hex(attributes.comp_mask))
      .text();
}
std::string query_ece::line() const { return fields{"ibv_query_ece"}.object(pair).text(); }
std::string set_ece::line() const {
  return fields{"ibv_set_ece"}.object(pair).word(inside(fake::show(options))).text();
}
std::string query_qp_data_in_order::line() const {
  return fields{"ibv_query_qp_data_in_order"}
      .object(pair)
      .add("op", fake::operation(operation))
      .add("flags", hex(flags))
      .text();
}

std::string create_srq::line() const {
  return fields{"ibv_create_srq"}.object(domain).word(inside(fake::show(attributes))).text();
}
std::string create_srq_ex::line() const {
  return fields{"ibv_create_srq_ex"}.object(context).word(inside(fake::show(attributes))).text();
}
std::string modify_srq::line() const {
  return fields{"ibv_modify_srq"}
      .object(queue)
      .add_or_stray((mask & IBV_SRQ_MAX_WR) != 0, "max_wr", attributes.max_wr)
      .add_or_stray((mask & IBV_SRQ_LIMIT) != 0, "srq_limit", attributes.srq_limit)
      .add_or_stray(false, "max_sge", attributes.max_sge)
      .unknown_bits(static_cast<unsigned>(mask), IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)
      .text();
}
std::string query_srq::line() const { return fields{"ibv_query_srq"}.object(queue).text(); }
std::string get_srq_num::line() const { return fields{"ibv_get_srq_num"}.object(queue).text(); }
std::string destroy_srq::line() const { return fields{"ibv_destroy_srq"}.object(queue).text(); }
std::string post_srq_recv::line() const {
  return requests_line("ibv_post_srq_recv", queue, requests);
}
std::string post_srq_ops::line() const {
  std::string text;
  for (const auto& each : operations) text += (text.empty() ? ": " : "; ") + show(each);
  return fields{"ibv_post_srq_ops"}.object(queue).text() + text;
}

std::string open_xrcd::line() const {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  return fields{"ibv_open_xrcd"}
      .object(context)
      .add_or_stray(has(IBV_XRCD_INIT_ATTR_FD), "fd", attributes.fd)
      .add_or_stray(has(IBV_XRCD_INIT_ATTR_OFLAGS), "oflags",
                    hex(static_cast<unsigned>(attributes.oflags)))
      .unknown_bits(attributes.comp_mask, IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)
      .text();
}
std::string close_xrcd::line() const { return fields{"ibv_close_xrcd"}.object(domain).text(); }
std::string open_qp::line() const {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  return fields{"ibv_open_qp"}
      .object(context)
      .add_or_stray(has(IBV_QP_OPEN_ATTR_NUM), "qp_num", hex(attributes.qp_num))
      .add_or_stray(has(IBV_QP_OPEN_ATTR_XRCD), "xrcd", name_of(attributes.xrcd))
      .add_or_stray(has(IBV_QP_OPEN_ATTR_CONTEXT), "qp_context", name_of(attributes.qp_context))
      .add_or_stray(has(IBV_QP_OPEN_ATTR_TYPE), "qp_type", pair_type(attributes.qp_type))
      .unknown_bits(attributes.comp_mask, 0xf)
      .text();
}

std::string create_wq::line() const {
  return fields{"ibv_create_wq"}
      .object(context)
      .add_unless_zero("wq_context", name_of(attributes.wq_context))
      .add("wq_type", enumerator(attributes.wq_type, {{IBV_WQT_RQ, "RQ"}}))
      .add("max_wr", attributes.max_wr)
      .add("max_sge", attributes.max_sge)
      .add("pd", name_of(attributes.pd))
      .add("cq", name_of(attributes.cq))
      .add_or_stray((attributes.comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0, "create_flags",
                    work_queue_flags(attributes.create_flags))
      .unknown_bits(attributes.comp_mask, IBV_WQ_INIT_ATTR_FLAGS)
      .text();
}
std::string modify_wq::line() const {
  const auto has = [&](unsigned bit) { return (attributes.attr_mask & bit) != 0; };
  return fields{"ibv_modify_wq"}
      .object(queue)
      .add_or_stray(has(IBV_WQ_ATTR_STATE), "wq_state", work_queue_state(attributes.wq_state))
      .add_or_stray(has(IBV_WQ_ATTR_CURR_STATE), "curr_wq_state",
                    work_queue_state(attributes.curr_wq_state))
      .add_or_stray(has(IBV_WQ_ATTR_FLAGS), "flags", work_queue_flags(attributes.flags))
      .add_or_stray(has(IBV_WQ_ATTR_FLAGS), "flags_mask", work_queue_flags(attributes.flags_mask))
      .unknown_bits(attributes.attr_mask, 7)
      .text();
}
std::string destroy_wq::line() const { return fields{"ibv_destroy_wq"}.object(queue).text(); }
std::string post_wq_recv::line() const {
  return requests_line("ibv_post_wq_recv", queue, requests);
}
std::string create_rwq_ind_table::line() const {
  std::string all;
  for (const ibv_wq* const each : queues) all += (all.empty() ? "" : ",") + name_of(each).text;
  return fields{"ibv_create_rwq_ind_table"}
      .object(context)
      .add("ind_tbl", {all, false})
      .add_unless_zero("comp_mask", hex(comp_mask))
      .text();
}
std::string destroy_rwq_ind_table::line() const {
  return fields{"ibv_destroy_rwq_ind_table"}.object(table).text();
}

}  // namespace fake::called
