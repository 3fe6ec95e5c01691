// SPDX-License-Identifier: MIT
// Indirection tables: they spread arriving packets over work queues.
#pragma once

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/device/detail/device_limit.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an indirection table, owned or referenced.
class indirection_table_base : public handle_base<ibv_rwq_ind_table> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
};

}  // namespace detail

/// Refers to an indirection table that another object keeps alive. As cheap as a pointer; pass it
/// by value.
class indirection_table_ref : public detail::reference_to<detail::indirection_table_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct indirection_table_traits {
  using native_type = ibv_rwq_ind_table;
  static constexpr std::string_view destroy_verb = "ibv_destroy_rwq_ind_table";
  static int destroy(ibv_rwq_ind_table* table) noexcept { return ibv_destroy_rwq_ind_table(table); }
  template <class Function>
  static void for_each_parent(const ibv_rwq_ind_table* table, const Function& function) noexcept {
    function(table->context);
    for (const void* parent : lifetime_registry::instance().noted_parents_of(table))
      function(parent);
  }
  static void describe(const ibv_rwq_ind_table* table, text_writer& writer) noexcept {
    put_device(writer, table->context)
        .put(" indirection table ")
        .decimal(static_cast<std::uint32_t>(table->ind_tbl_num));
  }
};

/// Returns the problem with the queues of a table on any device, or an empty text.
[[nodiscard]] inline std::string_view table_problem(std::span<const reference<ibv_wq>> queues) {
  if (queues.empty()) return "an indirection table needs at least one work queue";
  for (const reference<ibv_wq> queue : queues) {
    if (!queue) return "one of the work queues is empty: moved from, closed, or never made";
    if (queue.native_handle()->context != queues[0].native_handle()->context)
      return "the work queues are of different devices, or different openings of one";
  }
  return {};
}

/// Explains why an indirection table could not be created.
inline void explain_table(failure_description& description, context_ref context,
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

}  // namespace detail

/// Spreads the packets that arrive at a queue pair over work queues. The hash of a packet, modulo
/// the number of entries, is the index of the entry that receives it. The work queues must outlive
/// the table; the lifetime checker counts the table as their child.
class [[nodiscard]] indirection_table
    : public detail::owner<detail::indirection_table_base, detail::indirection_table_traits> {
 public:
  using owner::owner;

  /// Creates a table of these work queues, in this order. Fails with EINVAL if their number is not
  /// a power of two. A queue may be in several entries, and then receives more of the packets.
  /// Wraps: ibv_create_rwq_ind_table(3).
  explicit indirection_table(std::span<const reference<ibv_wq>> queues,
                             on_failure policy = throwing{})
      : owner{make(queues, policy)} {}

 private:
  [[nodiscard]] static indirection_table make(std::span<const reference<ibv_wq>> queues,
                                              on_failure policy) {
    constexpr std::string_view verb = "ibv_create_rwq_ind_table";
    if (const std::string_view problem = detail::table_problem(queues); !problem.empty()) {
      policy.report(EINVAL, verb,
                    [&](failure_description& description) { description.explain(problem); });
      return {};
    }
    const context_ref context = queues[0].native_handle()->context;
    if (!std::has_single_bit(queues.size())) {
      policy.report(EINVAL, verb, [&](failure_description& description) {
        detail::on_device(context.native_handle())(description);
        description.explain([&](text_writer& writer) {
          writer.put("a table of ").decimal(queues.size());
          writer.put(" entries was asked for, it has to be a power of two: ");
          writer.decimal(std::bit_floor(queues.size())).put(" or ");
          writer.decimal(std::bit_ceil(queues.size()));
          writer.put("; queues may stand in it more than once");
        });
      });
      return {};
    }
    std::vector<ibv_wq*> entries;
    entries.reserve(queues.size());
    for (const reference<ibv_wq> queue : queues) entries.push_back(queue.native_handle());
    const std::vector<const void*> parents = distinct(entries);
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

  /// Returns each queue once, so that the lifetime checker counts one table per queue.
  [[nodiscard]] static std::vector<const void*> distinct(const std::vector<ibv_wq*>& entries) {
    std::vector<const void*> queues;
    for (const ibv_wq* const entry : entries) {
      bool known = false;
      for (const void* const queue : queues) known = known || queue == entry;
      if (!known) queues.push_back(entry);
    }
    return queues;
  }
};

}  // namespace adverb::inline ADVERB_ABI
