// SPDX-License-Identifier: MIT
// Work queues and indirection tables.
#include <memory>
#include <utility>
#include <vector>

#include "posting.hpp"
#include "state.hpp"

namespace fake {
namespace {

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

int post_wq_recv(ibv_wq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) {
  return answer<called::post_wq_recv>(queue, copy_of(first), first, bad);
}

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes) {
  if (refused<called::create_wq>(
          about(context)
              .add_unless_zero("wq_context", name_of(attributes->wq_context))
              .add("wq_type", enumerator(attributes->wq_type, {{IBV_WQT_RQ, "RQ"}}))
              .add("max_wr", attributes->max_wr)
              .add("max_sge", attributes->max_sge)
              .add("pd", name_of(attributes->pd))
              .add("cq", name_of(attributes->cq))
              .add_or_stray((attributes->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0, "create_flags",
                            work_queue_flags(attributes->create_flags))
              .unknown_bits(attributes->comp_mask, IBV_WQ_INIT_ATTR_FLAGS)))
    return nullptr;
  machine::state& state = current().internals();
  auto made = std::make_unique<ibv_wq>();
  made->context = context;
  made->pd = attributes->pd;
  made->cq = attributes->cq;
  made->wq_num = ++state.last_qp_number;
  made->handle = ++state.last_handle;
  made->state = IBV_WQS_RESET;
  made->wq_type = attributes->wq_type;
  made->post_recv = post_wq_recv;
  // Providers round up.
  std::uint32_t granted = 1;
  while (granted < attributes->max_wr) granted *= 2;
  attributes->max_wr = granted;
  ibv_wq* const native = made.get();
  state.work_queues.add(std::move(made), native);
  return native;
}

int modify_wq(ibv_wq* queue, ibv_wq_attr* attributes) {
  const auto has = [&](unsigned bit) { return (attributes->attr_mask & bit) != 0; };
  if (const int error = errno_of<called::modify_wq>(
          about(queue)
              .add_or_stray(has(IBV_WQ_ATTR_STATE), "wq_state",
                            work_queue_state(attributes->wq_state))
              .add_or_stray(has(IBV_WQ_ATTR_CURR_STATE), "curr_wq_state",
                            work_queue_state(attributes->curr_wq_state))
              .add_or_stray(has(IBV_WQ_ATTR_FLAGS), "flags", work_queue_flags(attributes->flags))
              .add_or_stray(has(IBV_WQ_ATTR_FLAGS), "flags_mask",
                            work_queue_flags(attributes->flags_mask))
              .unknown_bits(attributes->attr_mask, 7)))
    return error;
  if ((attributes->attr_mask & IBV_WQ_ATTR_STATE) != 0) queue->state = attributes->wq_state;
  return 0;
}

int destroy_wq(ibv_wq* queue) {
  if (const int error = errno_of<called::destroy_wq>(about(queue))) return error;
  current().internals().work_queues.remove(queue);
  return 0;
}

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context,
                                        ibv_rwq_ind_table_init_attr* attributes) {
  ibv_wq** const first = attributes->ind_tbl;
  const std::size_t count = std::size_t{1} << attributes->log_ind_tbl_size;
  std::string all;
  for (std::size_t index = 0; index < count; ++index)
    all += (all.empty() ? "" : ",") + name_of(first[index]).text;
  if (refused<called::create_rwq_ind_table>(
          about(context)
              .add("ind_tbl", {all, false})
              .add_unless_zero("comp_mask", hex(attributes->comp_mask))))
    return nullptr;
  machine::state& state = current().internals();
  auto made = std::make_unique<ibv_rwq_ind_table>();
  made->context = context;
  made->ind_tbl_num = static_cast<int>(++state.last_handle);
  ibv_rwq_ind_table* const native = made.get();
  state.indirection_tables.add(std::move(made), native);
  return native;
}

int destroy_rwq_ind_table(ibv_rwq_ind_table* table) {
  if (const int error = errno_of<called::destroy_rwq_ind_table>(about(table))) return error;
  current().internals().indirection_tables.remove(table);
  return 0;
}

}  // namespace

void install_work_queue_operations(verbs_context& context) {
  context.create_wq = create_wq;
  context.modify_wq = modify_wq;
  context.destroy_wq = destroy_wq;
  context.create_rwq_ind_table = create_rwq_ind_table;
  context.destroy_rwq_ind_table = destroy_rwq_ind_table;
}

}  // namespace fake
