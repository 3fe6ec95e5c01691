// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_ud_extended(const surroundings& around) {
  measurement<extended_engine<adverb::transport::ud>>{around}.run();
}

}  // namespace perf
