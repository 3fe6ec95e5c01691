// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_ud(const surroundings& around) {
  measurement<classic_engine<adverb::transport::ud>>{around}.run();
}

}  // namespace perf
