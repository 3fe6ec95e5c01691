// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <vector>

#include <adverb/device/context.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/queue/indirection_table.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void indirection_table_traits::describe(const ibv_rwq_ind_table* table,
                                                    text_writer& writer) noexcept {
  put_device(writer, table->context)
      .put(" indirection table ")
      .decimal(static_cast<std::uint32_t>(table->ind_tbl_num));
}

ADVERB_FUNC std::string_view table_problem(std::span<const reference<ibv_wq>> queues) {
  if (queues.empty()) return "an indirection table needs at least one work queue";
  for (const reference<ibv_wq> queue : queues) {
    if (!queue) return "one of the work queues is empty: moved from, closed, or never created";
    if (queue.native_handle()->context != queues[0].native_handle()->context)
      return "the work queues belong to different contexts";
  }
  return {};
}

ADVERB_FUNC void explain_table(failure_description& description, context_ref context,
                               std::size_t entries) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    // A device without such tables has no limits worth reporting; that is explained elsewhere.
    if (unknown || device.receive_side_scaling().max_indirection_tables == 0) return;
    problem_list problems{writer};
    add_exceeded(problems, device,
                 {limit<&device_attributes::receive_side_scaling,
                        &receive_side_scaling::max_indirection_table_size>("the number of entries",
                                                                           entries)});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC indirection_table indirection_table::make(std::span<const reference<ibv_wq>> queues,
                                                      on_failure policy) {
  constexpr const char* verb = "ibv_create_rwq_ind_table";
  if (const std::string_view problem = detail::table_problem(queues); !problem.empty()) {
    policy.report(EINVAL, verb,
                  [&](failure_description& description) { description.explain(problem); });
    return {};
  }
  const context_ref context = queues[0].native_handle()->context;
  if (!std::has_single_bit(queues.size())) {
    policy.report(EINVAL, verb, [&](failure_description& description) {
      detail::on_device(context.native_handle())(description);
      description.explain(
          "a table of {} entries was requested, the number must be a power of two: {} or {}; a "
          "queue may appear more than once",
          {queues.size(), std::bit_floor(queues.size()), std::bit_ceil(queues.size())});
    });
    return {};
  }
  std::vector<ibv_wq*> entries(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) entries[i] = queues[i].native_handle();
  const detail::noted_parents parents = distinct(entries);
  return detail::make_handle<indirection_table>(
      policy, verb,
      [&] {
        ibv_rwq_ind_table_init_attr native{
            .log_ind_tbl_size = static_cast<std::uint32_t>(std::countr_zero(entries.size())),
            .ind_tbl = entries.data(),
            .comp_mask = 0};
        return detail::with_parents_of(ibv_create_rwq_ind_table(context.native_handle(), &native),
                                       parents);
      },
      [&](failure_description& description) {
        detail::on_device(context.native_handle())(description);
        detail::explain_table(description, context, entries.size());
      },
      context);
}

ADVERB_FUNC detail::noted_parents indirection_table::distinct(const std::vector<ibv_wq*>& entries) {
  detail::noted_parents queues;
  for (const ibv_wq* const entry : entries) {
    bool known = false;
    for (const void* const queue : queues) known = known || queue == entry;
    if (!known) queues.push_back(entry);
  }
  return queues;
}

}  // namespace adverb::inline ADVERB_ABI
