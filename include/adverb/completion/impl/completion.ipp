// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/completion/completion.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void report_status(on_failure policy, completion_status status,
                                                 std::uint64_t id, std::uint32_t vendor_error,
                                                 callable_ref<text_writer&> put_pair) {
  policy.report(make_error_code(status), "work request", [&](failure_description& description) {
    description
        .object([&](text_writer& writer) {
          put_pair(writer);
          writer.put("id ").decimal(id);
        })
        .explain([&](text_writer& writer) {
          const std::string_view hint = hint_for(status);
          writer.put(hint);
          if (vendor_error == 0) return;
          writer.put(hint.empty() ? "" : "; ").put("vendor error 0x").hexadecimal(vendor_error);
        });
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
