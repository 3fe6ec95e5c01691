// SPDX-License-Identifier: MIT
#pragma once

#include <system_error>

#include <adverb/device/context.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/queue/detail/explain_shared_receive_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void add_size_problems(problem_list& problems, const device_attributes& device,
                                   const shared_receive_queue_options& options) {
  if (options.max_wr == 0) problems.add("max_wr is 0: the queue has no room for a receive");
  add_exceeded(
      problems, device,
      {limit<&device_attributes::max_shared_receive_queue_requests>("max_wr", options.max_wr),
       limit<&device_attributes::max_shared_receive_queue_sge>("max_sge", options.max_sge)});
}

ADVERB_FUNC void explain_creation(problem_list& problems, context_ref context,
                                  const shared_receive_queue_options& options) {
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  if (unknown) return;
  if (device.max_shared_receive_queues() == 0)
    problems.add("{} has no shared receive queues", {context.native_handle()->device->name});
  else
    add_size_problems(problems, device, options);
}

ADVERB_FUNC void add_resize_problems(problem_list& problems, context_ref context,
                                     std::uint32_t max_wr, const ibv_srq_attr* now) {
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  if (unknown) return;
  if (!device.capabilities().contains(device_capability::resize_shared_receive_queue))
    problems.add("{} cannot resize shared receive queues", {context.native_handle()->device->name});
  add_size_problems(problems, device, {.max_wr = max_wr, .max_sge = 0});
  if (now != nullptr && max_wr < now->srq_limit)
    problems.add("max_wr is {}, below the limit of {}", {max_wr, now->srq_limit});
}

ADVERB_FUNC void explain_modification(failure_description& description, ibv_srq* queue,
                                      const ibv_srq_attr& asked, int mask) {
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    ibv_srq_attr attributes{};
    const ibv_srq_attr* const now = ibv_query_srq(queue, &attributes) == 0 ? &attributes : nullptr;
    if ((mask & IBV_SRQ_MAX_WR) != 0)
      add_resize_problems(problems, queue->context, asked.max_wr, now);
    if ((mask & IBV_SRQ_LIMIT) != 0 && now != nullptr && asked.srq_limit > now->max_wr)
      problems.add("the limit is {}, the queue holds {}", {asked.srq_limit, now->max_wr});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
