// SPDX-License-Identifier: MIT
// The measurements, one function for each transport and engine, so that they are compiled side by
// side.
#pragma once

#include <cstdint>
#include <vector>

#include <adverb/device/context.hpp>

#include "options.hpp"
#include "peer.hpp"
#include "report.hpp"

namespace perf {

/// The objects that a measurement uses.
struct surroundings {
  const perf::options& options;
  adverb::context_ref device;
  const perf::peer& peer;
  const std::vector<std::uint32_t>& sizes;
  perf::report& report;
};

void measure_rc(const surroundings& around);
void measure_rc_extended(const surroundings& around);
void measure_uc(const surroundings& around);
void measure_uc_extended(const surroundings& around);
void measure_ud(const surroundings& around);
void measure_ud_extended(const surroundings& around);

}  // namespace perf
