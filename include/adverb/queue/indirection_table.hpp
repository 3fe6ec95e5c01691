// SPDX-License-Identifier: MIT
// Indirection tables: they spread arriving packets over work queues.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/core/detail/lifetime.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an indirection table, owned or referenced.
class indirection_table_base : public handle_base<ibv_rwq_ind_table> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
};

}  // namespace detail

/// Refers to an indirection table that another object keeps alive. Pass it by value; it is as
/// cheap as a pointer.
class indirection_table_ref : public detail::reference_to<detail::indirection_table_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct indirection_table_traits {
  using native_type = ibv_rwq_ind_table;
  static constexpr const char* destroy_verb = "ibv_destroy_rwq_ind_table";
  static int destroy(ibv_rwq_ind_table* table) noexcept { return ibv_destroy_rwq_ind_table(table); }
  static void list_parents(const ibv_rwq_ind_table* table, parent_visitor& parents) noexcept {
    parents.add(table->context);
    parents.add_noted_of(table);
  }
  [[gnu::cold]] static void describe(const ibv_rwq_ind_table* table, text_writer& writer) noexcept;
};

/// Returns the problem with the queues of a table on any device, or an empty text.
[[nodiscard]] std::string_view table_problem(std::span<const reference<ibv_wq>> queues);

/// Explains why an indirection table could not be created.
[[gnu::cold]] void explain_table(failure_description& description, context_ref context,
                                 std::size_t entries);

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
                                              on_failure policy);

  /// Returns each queue once, so that the lifetime checker counts one table per queue.
  [[nodiscard]] static detail::noted_parents distinct(const std::vector<ibv_wq*>& entries);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/indirection_table.ipp>
#endif
