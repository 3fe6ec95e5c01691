// SPDX-License-Identifier: MIT
// Explains that the parts of an object belong to different devices.
#pragma once

#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/problem_list.hpp>
#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds a part that was created on another device than `context`, or on another opening of it.
/// Skips a null part.
template <class Part>
void explain_other_device(problem_list& problems, std::string_view name, const Part* part,
                          context_ref context) {
  if (part == nullptr || part->context == context.native_handle()) return;
  problems.add([&](text_writer& writer) {
    writer.put(name)
        .put(" was made on ")
        .put(part->context->device->name)
        .put(", or by another opening of it");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
