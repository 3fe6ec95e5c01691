// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/detail/check.hpp>
#include <adverb/queue/send_window.hpp>

namespace adverb::inline ADVERB_ABI {

[[gnu::noinline]] ADVERB_FUNC void send_window_result::report(send_window_result result,
                                                              on_failure policy) {
  if (!result.full()) return result.posted_.check(policy);
  policy.report(EAGAIN, detail::verb_of(result.posted_.queue()),
                [&](failure_description& description) { result.describe_full(description); });
}

ADVERB_FUNC void send_window_result::describe_full(
    failure_description& description) const noexcept {
  detail::name_posted_to(description, posted_.queue(), posted_.object_);
  description.explain(
      "the window is full: {} of {} requests are in progress; pass their completions to "
      "completed()",
      {static_cast<unsigned>(posted_.error_), posted_.accepted_or_unknown()});
}

}  // namespace adverb::inline ADVERB_ABI
