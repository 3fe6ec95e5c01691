// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/extended_sender.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC send_operations operations_of(const ibv_qp_ex& sender) noexcept {
  send_operations found;
  const auto add = [&](bool there, send_operation operation) {
    if (there) found |= operation;
  };
  add(sender.wr_rdma_write != nullptr, send_operation::write);
  add(sender.wr_rdma_write_imm != nullptr, send_operation::write_with_immediate);
  add(sender.wr_send != nullptr, send_operation::send);
  add(sender.wr_send_imm != nullptr, send_operation::send_with_immediate);
  add(sender.wr_rdma_read != nullptr, send_operation::read);
  add(sender.wr_atomic_cmp_swp != nullptr, send_operation::compare_and_swap);
  add(sender.wr_atomic_fetch_add != nullptr, send_operation::fetch_and_add);
  add(sender.wr_local_inv != nullptr, send_operation::local_invalidate);
  add(sender.wr_bind_mw != nullptr, send_operation::bind_window);
  add(sender.wr_send_inv != nullptr, send_operation::send_with_invalidate);
  add(sender.wr_send_tso != nullptr, send_operation::tcp_segmentation);
  return found;
}

}  // namespace adverb::inline ADVERB_ABI::detail
