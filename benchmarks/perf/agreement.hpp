// SPDX-License-Identifier: MIT
// What both sides have to be told alike, and the sentence when they were not.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"
#include "peer.hpp"

namespace perf {

/// Tells the peer what this side measures, and hears the same. Throws, on both sides, when that
/// differs.
void agree(const peer& other, const options& ours, const std::vector<std::uint32_t>& sizes);

}  // namespace perf
