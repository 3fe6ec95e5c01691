// SPDX-License-Identifier: MIT
// Work queues and indirection tables.
#include <memory>
#include <utility>
#include <vector>

#include "posting.hpp"
#include "state.hpp"

namespace fake {
namespace {

int post_wq_recv(ibv_wq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) {
  return answer<called::post_wq_recv>(queue, copy_of(first), first, bad);
}

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes) {
  if (refused(called::create_wq{context, *attributes})) return nullptr;
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
  if (const int error = errno_of(called::modify_wq{queue, *attributes})) return error;
  if ((attributes->attr_mask & IBV_WQ_ATTR_STATE) != 0) queue->state = attributes->wq_state;
  return 0;
}

int destroy_wq(ibv_wq* queue) {
  if (const int error = errno_of(called::destroy_wq{queue})) return error;
  current().internals().work_queues.remove(queue);
  return 0;
}

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context,
                                        ibv_rwq_ind_table_init_attr* attributes) {
  ibv_wq** const first = attributes->ind_tbl;
  const std::size_t count = std::size_t{1} << attributes->log_ind_tbl_size;
  if (refused(called::create_rwq_ind_table{context, {first, first + count}, attributes->comp_mask}))
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
  if (const int error = errno_of(called::destroy_rwq_ind_table{table})) return error;
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
