// SPDX-License-Identifier: MIT
// Whether the bytes of one operation arrive in their order.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// How data gets into local memory.
enum class in_order_operation : std::uint32_t {
  /// By the sends of a peer, into receives.
  send = IBV_WR_SEND,
  /// By the writes of a peer.
  write = IBV_WR_RDMA_WRITE,
  /// By own reads.
  read = IBV_WR_RDMA_READ,
};

}  // namespace adverb::inline ADVERB_ABI
