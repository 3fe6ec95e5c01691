// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/detail/end_cause.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void report_cancelled(on_failure policy, const char* verb) {
  policy.report(ECANCELED, verb, [](failure_description& description) {
    description.explain("the program has cancelled it");
  });
}

ADVERB_FUNC void end_cause::report(int number, const char* verb, on_failure policy) const {
  if (failure_ != nullptr) return policy.report(*failure_);
  if (number == ECANCELED) return report_cancelled(policy, verb);
  policy.report(number, verb, [&](failure_description& description) {
    switch (number) {
      case ETIMEDOUT: description.explain("the deadline of the connection has passed"); break;
      case ENODEV: description.explain("the device was removed"); break;
      case ECONNRESET: description.explain("the connection has ended"); break;
      default: break;
    }
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
