// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <system_error>

#include <adverb/completion/completion_queue_options.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/detail/explain_device.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC ibv_cq_ex* create_extended(context_ref context, std::size_t capacity,
                                       const completion_queue_options& options,
                                       completion_fields fields) noexcept {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = static_cast<std::uint32_t>(entries_of(capacity));
  attributes.cq_context = options.user_context;
  attributes.channel = options.channel.native_handle();
  attributes.comp_vector = options.vector;
  attributes.wc_flags = fields.bits();
  if (options.single_threaded) attributes.flags |= IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  if (options.ignore_overrun) attributes.flags |= IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if (attributes.flags != 0) attributes.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS;
  if (options.parent_domain) {
    attributes.parent_domain = options.parent_domain.native_handle();
    attributes.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD;
  }
  return ibv_create_cq_ex(context.native_handle(), &attributes);
}

ADVERB_FUNC void add_capacity_problems(problem_list& problems, context_ref context,
                                       std::size_t capacity) {
  if (capacity == 0) problems.add("a completion queue needs room for at least one completion");
  std::error_code unknown;
  const std::size_t limit = context.query_device(unknown).max_completion_queue_entries();
  if (unknown || capacity <= limit) return;
  problems.add("{} entries were requested, the device allows {}", {capacity, limit});
}

ADVERB_FUNC void add_missing_fields(problem_list& problems, context_ref context,
                                    completion_fields fields) {
  std::error_code unknown;
  const ibv_device_attr_ex device = context.query_device(unknown).native();
  if (unknown) return;
  const auto add_if = [&](completion_field field, bool missing, std::string_view sentence) {
    if (fields.contains(field) && missing) problems.add(sentence);
  };
  if (device.completion_timestamp_mask == 0 &&
      fields.intersects(completion_field::timestamp | completion_field::wall_clock))
    problems.add("the device has no completion timestamps");
  add_if(completion_field::vlan, (device.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING) == 0,
         "the device does not report VLANs");
  add_if(completion_field::flow_tag,
         !device_attributes{device}.capabilities().contains(device_capability::flow_steering),
         "the device has no flow steering, so no flow tags");
  add_if(completion_field::tag_matching, device.tm_caps.max_num_tags == 0,
         "the device has no tag matching");
}

ADVERB_FUNC void add_creation_problems(problem_list& problems, context_ref context,
                                       std::size_t capacity,
                                       const completion_queue_options& options) {
  add_capacity_problems(problems, context, capacity);
  if (options.vector >= context.completion_vectors())
    problems.add("completion vector {} is out of range: the device has {}, numbered from 0",
                 {options.vector, context.completion_vectors()});
  if (options.parent_domain &&
      options.parent_domain.context().native_handle() != context.native_handle())
    problems.add("the parent domain belongs to another context");
  explain_other_device(problems, "the channel", options.channel.native_handle(),
                       context.native_handle());
}

ADVERB_FUNC void explain_resize(text_writer& writer, context_ref context, std::size_t current,
                                std::size_t capacity) {
  problem_list problems{writer};
  add_capacity_problems(problems, context, capacity);
  if (problems.empty() && capacity < current)
    problems.add("the queue may hold more than {} completions: poll them first", {capacity});
}

ADVERB_FUNC void explain_reserved(failure_description& description, std::size_t reserved) {
  description.explain("{}{} reserved", {reserved, reserved == 1 ? " entry is" : " entries are"});
}

ADVERB_FUNC void explain_moderation(text_writer& writer, context_ref context,
                                    std::uint32_t completions, std::uint32_t microseconds) {
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  // A device that reports no limits does not support moderation.
  if (unknown || device.completion_moderation() == completion_moderation_limits{}) return;
  problem_list problems{writer};
  add_exceeded(
      problems, device,
      {limit<&device_attributes::completion_moderation, &completion_moderation_limits::max_count>(
           "the number of completions", completions),
       limit<&device_attributes::completion_moderation, &completion_moderation_limits::max_period>(
           "the period in microseconds", microseconds)});
}

}  // namespace adverb::inline ADVERB_ABI::detail
