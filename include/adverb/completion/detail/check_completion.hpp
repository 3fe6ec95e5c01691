// SPDX-License-Identifier: MIT
// Reports a completion that is no success.
#pragma once

#include <adverb/completion/status.hpp>
#include <adverb/core/error.hpp>

namespace adverb::inline ADVERB_ABI::detail {

template <class Completion, class PutPair>
[[gnu::cold, gnu::noinline]] void report_completion(on_failure policy, const Completion& completion,
                                                    const PutPair& put_pair) {
  const completion_status status = completion.status();
  policy.report(make_error_code(status), "work request", [&](failure_description& description) {
    description
        .object([&](text_writer& writer) {
          put_pair(writer);
          writer.put("id ").decimal(completion.id());
        })
        .explain([&](text_writer& writer) {
          writer.put(hint_for(status));
          const std::uint32_t vendor_error = completion.vendor_error();
          if (vendor_error == 0) return;
          writer.put(hint_for(status).empty() ? "" : "; ");
          writer.put("vendor error 0x").hexadecimal(vendor_error);
        });
  });
}

/// Fails if a completion of either engine is no success. `put_pair` names its queue pair if known.
template <class Completion, class PutPair>
[[gnu::always_inline]] inline void check_completion(on_failure policy, const Completion& completion,
                                                    const PutPair& put_pair) {
  if (completion.status() == completion_status::success) [[likely]]
    policy.clear();
  else
    report_completion(policy, completion, put_pair);
}

}  // namespace adverb::inline ADVERB_ABI::detail
