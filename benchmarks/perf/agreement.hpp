// SPDX-License-Identifier: MIT
// The options that both sides must share, and the sentence about a difference.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"
#include "peer.hpp"

namespace perf {

/// Exchanges the measured options with the peer. Throws, on both sides, when that differs.
void agree(const peer& other, const options& ours, const std::vector<std::uint32_t>& sizes);

}  // namespace perf
