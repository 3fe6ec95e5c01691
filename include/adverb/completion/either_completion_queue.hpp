// SPDX-License-Identifier: MIT
// A completion queue that is extended where the device has that, and classic where it has not.
#pragma once

#include <concepts>
#include <cstddef>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/core/detail/same_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// A completion queue of either engine, owned or referred to: for generic code, which finds the
/// same calls in both when it takes `up_to<…>` completions at a time.
template <class Queue>
concept completion_source = requires(const Queue& queue) {
  { Queue::fields } -> std::convertible_to<completion_fields>;
  queue.request_notification();
};

/// A completion queue that tells `Fields` of its completions where the device has extended
/// completion queues with them, and is a classic one where it has not. What works for both is
/// written once:
///
///     either_completion_queue<> queue{device, 1024};
///     queue.visit([&](const auto& any) { any.poll_until(up_to<16>, handle, stopped); });
///
/// What only the extended one tells stands behind `if constexpr`: see `fields` of the queue.
template <completion_fields Fields = standard_completion_fields>
class [[nodiscard]] either_completion_queue {
 public:
  either_completion_queue() noexcept = default;

  /// Makes an extended queue for at least `capacity` completions, or, when the device says that it
  /// has none with these fields (EOPNOTSUPP, ENOSYS), a classic one. Any other failure is reported.
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

  /// False when it is empty: moved from, closed, or never made.
  [[nodiscard]] explicit operator bool() const noexcept { return is_extended() || classic_; }
  [[nodiscard]] bool is_extended() const noexcept { return static_cast<bool>(extended_); }

  /// Calls the function with an `extended_completion_queue_ref<Fields>` or with a
  /// `completion_queue_ref`, whichever it is (the latter when it is empty), and returns what that
  /// returns. Both are as cheap as the pointer: visit around a loop, not inside it.
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    using extended = extended_completion_queue_ref<Fields>;
    if constexpr (detail::returns_the_same<Function, extended, completion_queue_ref>()) {
      if (is_extended()) return function(extended{extended_});
      return function(completion_queue_ref{classic_});
    }
  }

  /// The same queue for those who take any: queue pairs, and comparing with what a channel names.
  /// It has to be polled through `visit` alone.
  operator completion_queue_ref() const& noexcept {
    return is_extended() ? completion_queue_ref{extended_} : completion_queue_ref{classic_};
  }
  /// An owner that is about to die cannot be referred to.
  operator completion_queue_ref() const&& noexcept = delete;

  /// The C object, or null when empty. Still owned.
  [[nodiscard]] ibv_cq* native_handle() const noexcept {
    return is_extended() ? detail::plain_queue(extended_.native_handle())
                         : classic_.native_handle();
  }

  /// Destroys the queue now and reports an error; a failed close leaves it as it was.
  /// Wraps: ibv_destroy_cq(3).
  void close(on_failure policy = throwing{}) {
    if (is_extended())
      extended_.close(policy);
    else
      classic_.close(policy);
  }

 private:
  // One of them, or none.
  extended_completion_queue<Fields> extended_;
  completion_queue classic_;
};

}  // namespace adverb::inline ADVERB_ABI
