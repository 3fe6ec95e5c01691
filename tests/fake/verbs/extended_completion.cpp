// SPDX-License-Identifier: MIT
// Extended completion queues. Misuse that the manual page forbids ends the program: a round in a
// round, a round that ends before it starts, a field that is not there.
#include <cstdio>
#include <cstdlib>

#include "state.hpp"

using namespace fake;

namespace fake {
namespace {

[[noreturn]] void forbidden(const char* what) {
  std::fprintf(stderr, "fake: %s\n", what);
  std::abort();
}

completion_queue& queue_of(ibv_cq_ex* queue) {
  return current().internals().queues.at(ibv_cq_ex_to_cq(queue));
}

/// Makes the entry at the front the current one.
int go_to_front(completion_queue& queue) {
  queue.has_current = !queue.entries.empty();
  if (!queue.has_current) return ENOENT;
  queue.native.wr_id = queue.entries.front().completion.wr_id;
  queue.native.status = queue.entries.front().completion.status;
  return 0;
}

int start_poll(ibv_cq_ex* queue, ibv_poll_cq_attr* attributes) {
  completion_queue& found = queue_of(queue);
  if (found.polling) forbidden("ibv_start_poll in a round of polling waits for ever");
  if (const int error = errno_of<called::start_poll>(
          about(queue).add_unless_zero("comp_mask", hex(attributes->comp_mask))))
    return error;
  const int result = go_to_front(found);
  found.polling = result == 0;
  return result;
}

int next_poll(ibv_cq_ex* queue) {
  completion_queue& found = queue_of(queue);
  if (!found.polling) forbidden("ibv_next_poll outside of a round of polling");
  if (!found.has_current) forbidden("ibv_next_poll after the last completion");
  found.entries.pop_front();
  found.has_current = false;
  if (const int error = errno_of<called::next_poll>(about(queue))) return error;
  return go_to_front(found);
}

void end_poll(ibv_cq_ex* queue) {
  completion_queue& found = queue_of(queue);
  if (!found.polling) forbidden("ibv_end_poll without a round of polling");
  record<called::end_poll>(about(queue));
  if (found.has_current) found.entries.pop_front();
  found.has_current = false;
  found.polling = false;
}

/// Records that a field of the current completion is read, and returns the completion.
const completion_entry& read(ibv_cq_ex* queue, std::string_view field, std::uint64_t needed = 0) {
  completion_queue& found = queue_of(queue);
  if (!found.has_current) forbidden("a field is read, and there is no completion");
  if ((found.fields & needed) != needed) forbidden("a field is read that was not asked for");
  record<called::read_completion>(fields{"ibv_wc_read_" + std::string{field}}.object(queue),
                                  {queue, field});
  return found.entries.front();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* queue) { return read(queue, "opcode").completion.opcode; }
std::uint32_t read_vendor_err(ibv_cq_ex* queue) {
  return read(queue, "vendor_err").completion.vendor_err;
}
unsigned read_wc_flags(ibv_cq_ex* queue) { return read(queue, "wc_flags").completion.wc_flags; }
std::uint32_t read_byte_len(ibv_cq_ex* queue) {
  return read(queue, "byte_len", IBV_WC_EX_WITH_BYTE_LEN).completion.byte_len;
}
__be32 read_imm_data(ibv_cq_ex* queue) {
  return read(queue, "imm_data", IBV_WC_EX_WITH_IMM).completion.imm_data;
}
std::uint32_t read_qp_num(ibv_cq_ex* queue) {
  return read(queue, "qp_num", IBV_WC_EX_WITH_QP_NUM).completion.qp_num;
}
std::uint32_t read_src_qp(ibv_cq_ex* queue) {
  return read(queue, "src_qp", IBV_WC_EX_WITH_SRC_QP).completion.src_qp;
}
std::uint32_t read_slid(ibv_cq_ex* queue) {
  return read(queue, "slid", IBV_WC_EX_WITH_SLID).completion.slid;
}
std::uint8_t read_sl(ibv_cq_ex* queue) {
  return read(queue, "sl", IBV_WC_EX_WITH_SL).completion.sl;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* queue) {
  return read(queue, "dlid_path_bits", IBV_WC_EX_WITH_DLID_PATH_BITS).completion.dlid_path_bits;
}
std::uint64_t read_completion_ts(ibv_cq_ex* queue) {
  return read(queue, "completion_ts", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP).fields.timestamp;
}
std::uint16_t read_cvlan(ibv_cq_ex* queue) {
  return read(queue, "cvlan", IBV_WC_EX_WITH_CVLAN).fields.vlan;
}
std::uint32_t read_flow_tag(ibv_cq_ex* queue) {
  return read(queue, "flow_tag", IBV_WC_EX_WITH_FLOW_TAG).fields.flow_tag;
}
void read_tm_info(ibv_cq_ex* queue, ibv_wc_tm_info* info) {
  *info = read(queue, "tm_info", IBV_WC_EX_WITH_TM_INFO).fields.tag;
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* queue) {
  return read(queue, "completion_wallclock_ns", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
      .fields.wall_clock;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  const auto has = [&](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  const shown told =
      bits(attributes->wc_flags,
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
  if (refused<called::create_cq_ex>(
          about(context)
              .add("cqe", attributes->cqe)
              .add_unless_zero("cq_context", name_of(attributes->cq_context))
              .add_unless_zero("channel", name_of(attributes->channel))
              .add_unless_zero("comp_vector", attributes->comp_vector)
              .add("wc_flags", told)
              .add_or_stray(
                  has(IBV_CQ_INIT_ATTR_MASK_FLAGS), "flags",
                  bits(attributes->flags, {{IBV_CREATE_CQ_ATTR_SINGLE_THREADED, "SINGLE_THREADED"},
                                           {IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, "IGNORE_OVERRUN"}}))
              .add_or_stray(has(IBV_CQ_INIT_ATTR_MASK_PD), "parent_domain",
                            name_of(attributes->parent_domain))
              .unknown_bits(attributes->comp_mask,
                            IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)))
    return nullptr;
  const device& device = device_of(context);
  constexpr std::uint64_t times =
      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  if (!device.extended_completion_queues ||
      ((attributes->wc_flags & times) != 0 && device.extended.completion_timestamp_mask == 0)) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  completion_queue* const made =
      make_completion_queue(context, attributes->cqe, attributes->cq_context, attributes->channel,
                            attributes->comp_vector);
  if (made == nullptr) return nullptr;
  made->fields = attributes->wc_flags;
  ibv_cq_ex& native = made->native;
  native.start_poll = start_poll;
  native.next_poll = next_poll;
  native.end_poll = end_poll;
  native.read_opcode = read_opcode;
  native.read_vendor_err = read_vendor_err;
  native.read_byte_len = read_byte_len;
  native.read_imm_data = read_imm_data;
  native.read_qp_num = read_qp_num;
  native.read_src_qp = read_src_qp;
  native.read_wc_flags = read_wc_flags;
  native.read_slid = read_slid;
  native.read_sl = read_sl;
  native.read_dlid_path_bits = read_dlid_path_bits;
  native.read_completion_ts = read_completion_ts;
  native.read_cvlan = read_cvlan;
  native.read_flow_tag = read_flow_tag;
  native.read_tm_info = read_tm_info;
  native.read_completion_wallclock_ns = read_completion_wallclock_ns;
  return &native;
}

}  // namespace

void install_extended_completion_operations(verbs_context& context) {
  context.create_cq_ex = create_cq_ex;
}

}  // namespace fake
