// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_rc(const surroundings& around) {
  measurement<classic_engine<adverb::transport::rc>>{around}.run();
}

}  // namespace perf
