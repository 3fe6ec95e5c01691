// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <adverb/device/detail/explain_device.hpp>
#include <adverb/queue/tag_matching_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_creation(problem_list& problems, context_ref context,
                                  const tag_matching_queue_options& options) {
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  if (unknown) return;
  if (device.tag_matching().max_tags == 0) {
    problems.add("{} has no tag matching", {context.native_handle()->device->name});
    return;
  }
  add_size_problems(problems, device, options.unexpected());
  add_exceeded(problems, device,
               {limit<&device_attributes::tag_matching, &tag_matching_limits::max_tags>(
                    "max_tags", options.max_tags),
                limit<&device_attributes::tag_matching, &tag_matching_limits::max_operations>(
                    "max_operations", options.max_operations)});
}

}  // namespace adverb::inline ADVERB_ABI::detail
