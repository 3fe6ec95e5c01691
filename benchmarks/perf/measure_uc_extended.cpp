// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_uc_extended(const surroundings& around) {
  measurement<extended_engine<adverb::transport::uc>>{around}.run();
}

}  // namespace perf
