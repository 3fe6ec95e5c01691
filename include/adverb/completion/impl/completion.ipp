// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/completion/completion.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void report_status(on_failure policy, completion_status status,
                                                 std::uint64_t id, std::uint32_t vendor_error,
                                                 callable_ref<text_writer&> put_pair,
                                                 std::size_t block) {
  policy.report(make_error_code(status), "work request", [&](failure_description& description) {
    description
        .object([&](text_writer& writer) {
          put_pair(writer);
          writer.put("id ").decimal(id);
        })
        .explain([&](text_writer& writer) {
          problem_list problems{writer};
          if (block != 0) problems.add("the receive has {} bytes", {block});
          problems.add(hint_for(status));
          if (vendor_error != 0)
            problems.add([&](text_writer& words) {
              words.put("vendor error 0x").hexadecimal(vendor_error);
            });
        });
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
