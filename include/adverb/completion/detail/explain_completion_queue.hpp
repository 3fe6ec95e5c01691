// SPDX-License-Identifier: MIT
// Explains why a completion queue could not be created, resized or moderated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_field.hpp>
#include <adverb/completion/completion_queue_options.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/detail/device_limit.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Explains an invalid number of entries.
inline void add_capacity_problems(problem_list& problems, context_ref context,
                                  std::size_t capacity) {
  if (capacity == 0) problems.add("a completion queue needs room for at least one completion");
  std::error_code unknown;
  const std::size_t limit = context.query_device(unknown).max_completion_queue_entries();
  if (unknown || capacity <= limit) return;
  problems.add([&](text_writer& writer) {
    writer.decimal(capacity).put(" entries were asked for, the device allows ").decimal(limit);
  });
}

/// Adds the fields that the device reports as unsupported.
inline void add_missing_fields(problem_list& problems, context_ref context,
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
         "the device does not tell VLANs apart");
  add_if(completion_field::flow_tag,
         !device_attributes{device}.capabilities().contains(device_capability::flow_steering),
         "the device has no flow steering, so no flow tags");
  add_if(completion_field::tag_matching, device.tm_caps.max_num_tags == 0,
         "the device has no tag matching");
}

/// Explains invalid arguments for creating a queue of either engine.
inline void add_creation_problems(problem_list& problems, context_ref context, std::size_t capacity,
                                  const completion_queue_options& options) {
  add_capacity_problems(problems, context, capacity);
  if (options.vector >= context.completion_vectors())
    problems.add([&](text_writer& text) {
      text.put("completion vector ").decimal(options.vector).put(" of ");
      text.decimal(context.completion_vectors()).put(" (they count from 0)");
    });
  if (options.parent_domain &&
      options.parent_domain.context().native_handle() != context.native_handle())
    problems.add("the parent domain is of another device");
}

/// Returns a function that names the device and explains why a queue could not be created.
[[nodiscard]] inline auto explaining_creation(context_ref context, std::size_t capacity,
                                              const completion_queue_options& options) noexcept {
  return [=](failure_description& description) {
    on_device(context.native_handle())(description);
    description.explain([&](text_writer& writer) {
      problem_list problems{writer};
      add_creation_problems(problems, context, capacity, options);
    });
  };
}

/// Does the same for an extended queue, and names the alternative if the device has none.
[[nodiscard]] inline auto explaining_creation(context_ref context, std::size_t capacity,
                                              const completion_queue_options& options,
                                              completion_fields fields) noexcept {
  return [=](failure_description& description) {
    on_device(context.native_handle())(description);
    description.explain([&](text_writer& writer) {
      problem_list problems{writer};
      add_creation_problems(problems, context, capacity, options);
      if (fields != standard_completion_fields) add_missing_fields(problems, context, fields);
      if (!is_unsupported(description.code())) return;
      if (problems.empty())
        problems.add([&](text_writer& text) {
          put_device(text, context.native_handle()).put(" has no ");
          text.put(feature_of("ibv_create_cq_ex"));
        });
      problems.add("completion_queue does without, and either_completion_queue chooses");
    });
  };
}

/// Explains why a queue of `current` entries cannot be resized.
inline void explain_resize(text_writer& writer, context_ref context, std::size_t current,
                           std::size_t capacity) {
  problem_list problems{writer};
  add_capacity_problems(problems, context, capacity);
  if (problems.empty() && capacity < current)
    problems.add([&](text_writer& text) {
      text.put("the queue may hold more than ").decimal(capacity);
      text.put(" completions: poll them first");
    });
}

/// Explains why a queue cannot become smaller than its reservations.
inline void explain_reserved(failure_description& description, std::size_t reserved) {
  description.explain([&](text_writer& writer) {
    writer.decimal(reserved).put(reserved == 1 ? " entry is" : " entries are").put(" reserved");
  });
}

/// Explains invalid moderation values, by the limits of the device.
inline void explain_moderation(text_writer& writer, context_ref context, std::uint32_t completions,
                               std::uint32_t microseconds) {
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
