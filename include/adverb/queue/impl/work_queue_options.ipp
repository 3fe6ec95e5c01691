// SPDX-License-Identifier: MIT
#pragma once

#include <system_error>

#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/work_queue_options.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC ibv_wq_init_attr work_queue_options::native(ibv_pd* domain) const noexcept {
  return {.wq_context = user_context,
          .wq_type = IBV_WQT_RQ,
          .max_wr = max_wr,
          .max_sge = max_sge,
          .pd = domain,
          .cq = completion_queue.native_handle(),
          .comp_mask = flags.empty() ? 0U : std::uint32_t{IBV_WQ_INIT_ATTR_FLAGS},
          .create_flags = flags.bits()};
}

}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC work_queue_flags supported_work_queue_flags(const device_attributes& device) noexcept {
  work_queue_flags known;
  const raw_packet_capabilities can = device.raw_packets();
  if (can.contains(raw_packet_capability::vlan_stripping)) known |= work_queue_flag::strip_vlan;
  if (can.contains(raw_packet_capability::scatter_frame_checksum))
    known |= work_queue_flag::scatter_frame_check_sequence;
  if (can.contains(raw_packet_capability::delay_drop)) known |= work_queue_flag::delay_drop;
  if (device.capabilities().contains(device_capability::pci_write_end_padding))
    known |= work_queue_flag::pci_write_end_padding;
  return known;
}

ADVERB_FUNC void add_missing_flags(problem_list& problems, work_queue_flags asked,
                                   const device_attributes& device) {
  const work_queue_flags missing = asked - supported_work_queue_flags(device);
  if (missing.empty()) return;
  problems.add("the device has no {}", {missing});
}

ADVERB_FUNC void explain_work_queue(failure_description& description, context_ref context,
                                    const work_queue_options& options) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    // A device without work queues has no limits to report; another explanation covers it.
    if (unknown || device.max_work_queues() == 0) return;
    problem_list problems{writer};
    add_exceeded(problems, device,
                 {limit<&device_attributes::max_work_requests>("max_wr", options.max_wr),
                  limit<&device_attributes::max_sge>("max_sge", options.max_sge)});
    add_missing_flags(problems, options.flags, device);
    explain_other_device(problems, "the completion queue", options.completion_queue.native_handle(),
                         context.native_handle());
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
