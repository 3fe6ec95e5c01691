// SPDX-License-Identifier: MIT
// The lines of completion channels and queues.
#include "../calls.hpp"
#include "../render.hpp"

namespace fake::called {

std::string create_comp_channel::line() const {
  return fields{"ibv_create_comp_channel"}.object(context).text();
}
std::string destroy_comp_channel::line() const {
  return fields{"ibv_destroy_comp_channel"}.object(channel).text();
}
std::string get_cq_event::line() const { return fields{"ibv_get_cq_event"}.object(channel).text(); }
std::string ack_cq_events::line() const {
  return fields{"ibv_ack_cq_events"}.object(queue).add("nevents", count).text();
}
std::string create_cq::line() const {
  return fields{"ibv_create_cq"}
      .object(context)
      .add("cqe", entries)
      .add_unless_zero("cq_context", name_of(user_context))
      .add_unless_zero("channel", name_of(channel))
      .add_unless_zero("comp_vector", vector)
      .text();
}
std::string destroy_cq::line() const { return fields{"ibv_destroy_cq"}.object(queue).text(); }
std::string poll_cq::line() const {
  return fields{"ibv_poll_cq"}.object(queue).add("num_entries", entries).text();
}
std::string req_notify_cq::line() const {
  return fields{"ibv_req_notify_cq"}.object(queue).add("solicited_only", solicited_only).text();
}
std::string resize_cq::line() const {
  return fields{"ibv_resize_cq"}.object(queue).add("cqe", entries).text();
}
std::string modify_cq::line() const {
  const bool moderates = (attributes.attr_mask & IBV_CQ_ATTR_MODERATE) != 0;
  return fields{"ibv_modify_cq"}
      .object(queue)
      .add_or_stray(moderates, "cq_count", attributes.moderate.cq_count)
      .add_or_stray(moderates, "cq_period", attributes.moderate.cq_period)
      .unknown_bits(attributes.attr_mask, IBV_CQ_ATTR_MODERATE)
      .text();
}

std::string create_cq_ex::line() const {
  const auto has = [&](unsigned bit) { return (attributes.comp_mask & bit) != 0; };
  const shown told =
      bits(attributes.wc_flags,
           {{IBV_WC_STANDARD_FLAGS, "STANDARD"},
            {IBV_WC_EX_WITH_BYTE_LEN, "BYTE_LEN"},
            {IBV_WC_EX_WITH_IMM, "IMM"},
            {IBV_WC_EX_WITH_QP_NUM, "QP_NUM"},
            {IBV_WC_EX_WITH_SRC_QP, "SRC_QP"},
            {IBV_WC_EX_WITH_SLID, "SLID"},
            {IBV_WC_EX_WITH_SL, "SL"},
            {IBV_WC_EX_WITH_DLID_PATH_BITS, "DLID_PATH_BITS"},
            {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, "COMPLETION_TIMESTAMP"},
            {IBV_WC_EX_WITH_CVLAN, "CVLAN"},
            {IBV_WC_EX_WITH_FLOW_TAG, "FLOW_TAG"},
            {IBV_WC_EX_WITH_TM_INFO, "TM_INFO"},
            {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, "COMPLETION_TIMESTAMP_WALLCLOCK"}});
  return fields{"ibv_create_cq_ex"}
      .object(context)
      .add("cqe", attributes.cqe)
      .add_unless_zero("cq_context", name_of(attributes.cq_context))
      .add_unless_zero("channel", name_of(attributes.channel))
      .add_unless_zero("comp_vector", attributes.comp_vector)
      .add("wc_flags", told)
      .add_or_stray(has(IBV_CQ_INIT_ATTR_MASK_FLAGS), "flags",
                    bits(attributes.flags, {{IBV_CREATE_CQ_ATTR_SINGLE_THREADED, "SINGLE_THREADED"},
                                            {IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, "IGNORE_OVERRUN"}}))
      .add_or_stray(has(IBV_CQ_INIT_ATTR_MASK_PD), "parent_domain",
                    name_of(attributes.parent_domain))
      .unknown_bits(attributes.comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
      .text();
}
std::string start_poll::line() const {
  return fields{"ibv_start_poll"}.object(queue).add_unless_zero("comp_mask", hex(comp_mask)).text();
}
std::string next_poll::line() const { return fields{"ibv_next_poll"}.object(queue).text(); }
std::string end_poll::line() const { return fields{"ibv_end_poll"}.object(queue).text(); }
std::string read_completion::line() const {
  return fields{"ibv_wc_read_" + std::string{field}}.object(queue).text();
}

}  // namespace fake::called
