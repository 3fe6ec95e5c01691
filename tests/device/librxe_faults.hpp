// SPDX-License-Identifier: MIT
// Faults of librxe, the provider of Soft-RoCE, that later versions of rdma-core mended: for tests
// that meet them.
#pragma once

#include "rdma_core_version.hpp"
#include "support.hpp"

/// Before rdma-core 55 it takes one completion more than there is at the end of a round that
/// emptied an extended queue: next_poll has let go of the last one already when it returns ENOENT,
/// and end_poll lets go of one again.
[[nodiscard]] inline bool loses_its_place(adverb::context_ref context) {
  return is_soft_roce(context) && rdma_core_version() < 55;
}

/// Before rdma-core 64 it counts the first length of a list of elements again and again, and sends
/// nothing of several pieces of inline data: in the extended calls only.
[[nodiscard]] inline bool loses_lists(adverb::context_ref context) {
  return is_soft_roce(context) && rdma_core_version() < 64;
}
