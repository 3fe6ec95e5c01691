// SPDX-License-Identifier: MIT
// A completion queue that is extended if the device supports it, and classic otherwise.
#pragma once

#include <concepts>
#include <cstddef>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/core/detail/same_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// A completion queue of either engine, owned or referenced, for generic code. Both have the same
/// calls with `up_to<…>` completions at a time.
template <class Queue>
concept completion_source = requires(const Queue& queue) {
  { Queue::fields } -> std::convertible_to<completion_fields>;
  queue.request_notification();
};

/// Owns a completion queue that is extended if the device supports this with `Fields`, and classic
/// otherwise. Generic code serves both:
///
///     either_completion_queue<> queue{device, 1024};
///     queue.visit([&](const auto& any) { any.poll_until(up_to<16>, handle, stopped); });
///
/// Guard a field that only the extended queue has by `if constexpr`: see `fields` of the queue.
template <completion_fields Fields = standard_completion_fields>
class [[nodiscard]] either_completion_queue {
 public:
  either_completion_queue() noexcept = default;

  /// Creates an extended queue for at least `capacity` completions, or a classic one if the device
  /// does not support the extended queue (EOPNOTSUPP, ENOSYS). Fails on any other error.
  /// Wraps: ibv_create_cq_ex(3), ibv_create_cq(3).
  either_completion_queue(context_ref context, std::size_t capacity,
                          completion_queue_options options, on_failure policy = throwing{}) {
    failure why;
    extended_ = extended_completion_queue<Fields>{context, capacity, options, why};
    if (!why)
      policy.clear();
    else if (detail::is_unsupported(why.code()))
      classic_ = completion_queue{context, capacity, options, policy};
    else
      policy.report(why);
  }
  either_completion_queue(context_ref context, std::size_t capacity, on_failure policy = throwing{})
      : either_completion_queue{context, capacity, completion_queue_options{}, policy} {}

  /// Returns false if it is empty: moved from, closed, or never created.
  [[nodiscard]] explicit operator bool() const noexcept { return is_extended() || classic_; }
  /// Returns true if it holds an extended completion queue.
  [[nodiscard]] bool is_extended() const noexcept { return static_cast<bool>(extended_); }

  /// Calls the function with an `extended_completion_queue_ref<Fields>` or a
  /// `completion_queue_ref`, and returns its result. An empty object passes the latter. Both are as
  /// cheap as a pointer: visit around a loop, not inside it.
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    using extended = extended_completion_queue_ref<Fields>;
    if constexpr (detail::returns_the_same<Function, extended, completion_queue_ref>()) {
      if (is_extended()) return function(extended{extended_});
      return function(completion_queue_ref{classic_});
    }
  }

  /// Refers to the queue independently of its engine: for queue pairs, and for comparison with the
  /// queue that a channel returns. Poll it only through `visit`.
  operator completion_queue_ref() const& noexcept {
    return is_extended() ? completion_queue_ref{extended_} : completion_queue_ref{classic_};
  }
  /// Deleted: the reference would outlive a temporary owner.
  operator completion_queue_ref() const&& noexcept = delete;

  /// Returns the C object, or null if empty. Keeps ownership.
  [[nodiscard]] ibv_cq* native_handle() const noexcept {
    return is_extended() ? detail::plain_queue(extended_.native_handle())
                         : classic_.native_handle();
  }

  /// Destroys the queue now; if that fails, the queue is unchanged. Wraps: ibv_destroy_cq(3).
  void close(on_failure policy = throwing{}) {
    if (is_extended())
      extended_.close(policy);
    else
      classic_.close(policy);
  }

 private:
  // At most one of them is not empty.
  extended_completion_queue<Fields> extended_;
  completion_queue classic_;
};

}  // namespace adverb::inline ADVERB_ABI
