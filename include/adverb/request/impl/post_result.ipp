// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/core/detail/check.hpp>
#include <adverb/request/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

[[gnu::noinline]] ADVERB_FUNC void post_result::report(post_result result, on_failure policy) {
  policy.report(result.error_, detail::verb_of(result.queue()),
                [&](failure_description& description) { result.describe(description); });
}

ADVERB_FUNC void post_result::describe(failure_description& description) const noexcept {
  if (object_ == nullptr) {
    description.explain("the send window is empty: moved from, or never created");
    return;
  }
  detail::name_posted_to(description, queue(), object_);
  description.explain([&](text_writer& writer) {
    if (!accepted())
      writer.put("the number of accepted requests is unknown");
    else
      writer.decimal(*accepted())
          .put(*accepted() == 1 ? " request was accepted" : " requests were accepted");
    if (error_ == ENOMEM || error_ == EINVAL || error_ == ENOSPC)
      detail::explain_refusal(writer.put("; "), queue(), object_, shape());
  });
}

}  // namespace adverb::inline ADVERB_ABI
