// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/memory/buffer.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void report_slice(on_failure policy, const slice_call& call,
                                                std::size_t offset, std::size_t count,
                                                std::size_t size) {
  policy.report(ERANGE, call.verb, [&](failure_description& description) {
    description.explain("{} {} from {} are not inside {}", {count, call.units, offset, size});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
