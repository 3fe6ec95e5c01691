// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/detail/explain_device.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void add_exceeded(problem_list& problems,
                                                const device_attributes& device,
                                                std::initializer_list<device_limit> limits) {
  for (const device_limit& each : limits) {
    const std::uint64_t allowed = each.allowed(device);
    if (each.asked <= allowed) continue;
    problems.add("{} is {}, the device allows {}", {each.name, each.asked, allowed});
  }
}

[[gnu::noinline]] ADVERB_FUNC void explain_other_context(problem_list& problems, const char* name,
                                                         const ibv_context* of_part,
                                                         const ibv_context* context) {
  if (of_part != context)
    problems.add("{} belongs to another context (of {})", {name, of_part->device->name});
}

}  // namespace adverb::inline ADVERB_ABI::detail
