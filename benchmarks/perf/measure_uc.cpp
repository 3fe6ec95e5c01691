// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_uc(const surroundings& around) {
  measurement<classic_engine<adverb::transport::uc>>{around}.run();
}

}  // namespace perf
