// SPDX-License-Identifier: MIT
// Completion counters: the number of completed work requests, without an entry for each.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/flags.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>

// Later headers define them.
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

namespace adverb::inline ADVERB_ABI {

/// The quantity that a completion counter counts.
enum class counted_completions : std::uint32_t {
  work_requests = 0,
  bytes = 1,
};

[[nodiscard]] constexpr static_string<48> to_text(counted_completions what) noexcept {
  constexpr std::string_view names = "work_requests|bytes";
  return detail::listed_name_or_number(names, static_cast<std::uint32_t>(what));
}

/// An operation of a queue pair whose completions are counted. The remote ones are those of the
/// peer on the memory of this side.
enum class counted_operation : std::uint32_t {
  send = 1U << 0U,
  receive = 1U << 1U,
  read = 1U << 2U,
  remote_read = 1U << 3U,
  write = 1U << 4U,
  remote_write = 1U << 5U,
};
template <>
inline constexpr bool is_flag<counted_operation> = true;
/// A set of operations.
using counted_operations = flags<counted_operation>;

/// Returns the name of an operation; empty for a bit that has none.
[[nodiscard]] constexpr std::string_view flag_name(counted_operation operation) noexcept {
  constexpr std::string_view names = "send|receive|read|remote_read|write|remote_write";
  return detail::listed_bit_name(names, static_cast<std::uint32_t>(operation));
}

/// The limits of a device's completion counters.
struct completion_counter_limits {
  /// The highest value. The next increment makes it 0.
  std::uint64_t max_value = 0;
  /// The maximum number of counters.
  std::uint32_t max_counters = 0;
  /// The operations that can be counted.
  counted_operations operations = {};
};

/// Returns the limits of a device's completion counters. Fails with EOPNOTSUPP if it has none.
/// Needs the headers of rdma-core 65. Wraps: ibv_query_comp_cntr_caps(3).
[[nodiscard]] completion_counter_limits query_completion_counters(context_ref context,
                                                                  on_failure policy = throwing{});

namespace detail {

struct completion_counter_traits {
  using native_type = ibv_comp_cntr;
  static constexpr const char* destroy_verb = "ibv_destroy_comp_cntr";
  static int destroy(ibv_comp_cntr* counter) noexcept { return destroy_declared(counter); }
  static void list_parents(const ibv_comp_cntr* counter, parent_visitor& parents) noexcept {
    parents.add(context_of(counter));
  }
  static void describe(const ibv_comp_cntr* counter, text_writer& writer) noexcept {
    if (context_of(counter) != nullptr)
      put_device(writer, context_of(counter)).put(" completion counter");
  }
  static void explain_destroy(failure_description& description) noexcept {
    if (is_code(description.code(), std::errc::device_or_resource_busy))
      description.explain("a queue pair still counts in it: destroy that first");
  }

 private:
  template <class Counter>
  static int destroy_declared(Counter* counter) noexcept {
    if constexpr (requires { ibv_destroy_comp_cntr(counter); })
      return ibv_destroy_comp_cntr(counter);
    else
      return EOPNOTSUPP;
  }
};

/// The operations of a completion counter, whether it is owned or referred to. Thread safe.
class completion_counter_base : public handle_base<ibv_comp_cntr> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return context_of(checked_handle()); }

  /// Returns the number of successful completions, or of their bytes. A change of the value by
  /// `set` or `add` may become visible a moment later. Wraps: ibv_read_comp_cntr(3).
  [[nodiscard]] std::uint64_t value(on_failure policy = throwing{}) const;
  /// Returns the number of failed completions. Wraps: ibv_read_err_comp_cntr(3).
  [[nodiscard]] std::uint64_t errors(on_failure policy = throwing{}) const;

  /// Sets the value. Completions that are counted meanwhile may be lost.
  /// Wraps: ibv_set_comp_cntr(3).
  void set(std::uint64_t value, on_failure policy = throwing{}) const;
  /// Sets the number of failed completions. Wraps: ibv_set_err_comp_cntr(3).
  void set_errors(std::uint64_t value, on_failure policy = throwing{}) const;
  /// Adds to the value. Wraps: ibv_inc_comp_cntr(3).
  void add(std::uint64_t amount, on_failure policy = throwing{}) const;
  /// Adds to the number of failed completions. Wraps: ibv_inc_err_comp_cntr(3).
  void add_errors(std::uint64_t amount, on_failure policy = throwing{}) const;

  /// Counts operations of a queue pair, which must be in RESET or INIT, until the pair is
  /// destroyed. Several pairs may count in one counter; fails with EBUSY if the pair counts one of
  /// the operations in another. Wraps: ibv_qp_attach_comp_cntr(3).
  template <class Pair>
    requires requires { std::remove_cvref_t<Pair>::transport_of; }
  void attach(const Pair& pair, counted_operations operations,
              on_failure policy = throwing{}) const {
    attach_to(pair.native_handle(), operations, policy);
  }

 private:
  void attach_to(ibv_qp* pair, counted_operations operations, on_failure policy) const;
};

}  // namespace detail

/// A non-owning reference to a completion counter, which must outlive the reference. Pass it by
/// value; it is as cheap as a pointer.
class completion_counter_ref : public detail::reference_to<detail::completion_counter_base> {
 public:
  using reference_to::reference_to;
};

/// The numbers of successful and of failed completions of the queue pairs that count in it:
///
///     completion_counter done{device};
///     done.attach(pair, counted_operation::write);      // in RESET or INIT
///     while (done.value() < posted && done.errors() == 0) …
///
/// Queue pairs that count in it must be destroyed first. Needs the headers of rdma-core 65.
class [[nodiscard]] completion_counter
    : public detail::owner<detail::completion_counter_base, detail::completion_counter_traits> {
 public:
  using owner::owner;

  /// Creates a counter with the value 0. Wraps: ibv_create_comp_cntr(3).
  explicit completion_counter(context_ref context,
                              counted_completions what = counted_completions::work_requests,
                              on_failure policy = throwing{})
      : owner{adverb::adopt, make(context, what, policy)} {}
  /// Creates a counter of work requests.
  completion_counter(context_ref context, on_failure policy)
      : completion_counter{context, counted_completions::work_requests, policy} {}

 private:
  static ibv_comp_cntr* make(context_ref context, counted_completions what, on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/completion_counter.ipp>
#endif
