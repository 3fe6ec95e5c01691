// SPDX-License-Identifier: MIT
// That the parts of an object are not of one device.
#pragma once

#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/problem_list.hpp>
#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds a part that was made on another device than `context` (null for one that there is not).
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
