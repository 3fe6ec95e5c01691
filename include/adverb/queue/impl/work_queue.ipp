// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <adverb/queue/work_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool modify_work_queue(on_failure policy, ibv_wq* queue, ibv_wq_attr attributes) {
  constexpr const char* verb = "ibv_modify_wq";
  return check_present(policy, verb, queue) &&
         check_returned(
             policy, verb, ibv_modify_wq(queue, &attributes),
             [&](failure_description& description) {
               on_object<work_queue_traits>(queue)(description);
               description.explain([&](text_writer& writer) {
                 if ((attributes.attr_mask & IBV_WQ_ATTR_FLAGS) == 0) return;
                 std::error_code unknown;
                 const device_attributes device = context_ref{queue->context}.query_device(unknown);
                 if (unknown) return;
                 problem_list problems{writer};
                 add_missing_flags(problems, work_queue_flags::from_bits(attributes.flags_mask),
                                   device);
               });
             });
}

}  // namespace adverb::inline ADVERB_ABI::detail
