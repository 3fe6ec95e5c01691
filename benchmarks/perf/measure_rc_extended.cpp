// SPDX-License-Identifier: MIT
#include "engines.hpp"
#include "measurement.hpp"

namespace perf {

void measure_rc_extended(const surroundings& around) {
  measurement<extended_engine<adverb::transport::rc>>{around}.run();
}

}  // namespace perf
