// SPDX-License-Identifier: MIT
// A completion for a fake queue.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

/// That of a request with this id, which succeeded.
inline ibv_wc completed(std::uint64_t id) {
  ibv_wc native{};
  native.wr_id = id;
  native.status = IBV_WC_SUCCESS;
  return native;
}
