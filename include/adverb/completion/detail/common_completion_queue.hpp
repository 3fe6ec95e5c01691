// SPDX-License-Identifier: MIT
// The operations of a completion queue in either engine: events, waiting, resizing.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_channel.hpp>
#include <adverb/completion/completion_queue_options.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <adverb/fwd.hpp>
#include <adverb/version.hpp>

struct ibv_cq;

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Counts the reserved entries of each queue. Thread safe. Terminates the program if there is no
/// memory for an entry of the table. The table is a list, because there are few queues.
class [[gnu::visibility("default")]] reserved_completions
    : public side_table<reserved_completions> {
 public:
  struct outcome {
    bool fits;
    /// Entries reserved by others.
    std::size_t reserved_before;
  };

  /// Reserves entries of a queue of `capacity` entries, if enough are left.
  outcome add(const ibv_cq* queue, std::size_t entries, std::size_t capacity) noexcept;

  void remove(const ibv_cq* queue, std::size_t entries) noexcept;

  [[nodiscard]] std::size_t of(const ibv_cq* queue) noexcept;

 private:
  struct entry {
    const ibv_cq* queue;
    std::size_t entries;
    entry* next;
  };

  /// Returns the link to the entry of a queue, or the place to insert one.
  [[nodiscard]] entry** place_of(const ibv_cq* queue) noexcept;

  entry* first_ = nullptr;
};

/// Returns true if `Consume` accepts spans of completions.
template <class Consume>
consteval bool takes_spans() noexcept {
  constexpr bool takes = std::invocable<Consume&, std::span<completion>>;
  static_assert(takes,
                "completions are handed over as spans, before the condition to stop: give a "
                "function that takes a std::span<completion>");
  return takes;
}

/// Returns true if `Consume` accepts a single completion.
template <class Consume, class Completion>
consteval bool takes_each() noexcept {
  constexpr bool takes = std::invocable<Consume&, const Completion&>;
  static_assert(takes,
                "each completion is handed over by itself, before the timeout or the condition to "
                "stop: give a function that takes a const auto&");
  return takes;
}

/// Returns true if `Stop` can be called without arguments and returns a condition.
template <class Stop>
consteval bool says_when_to_stop() noexcept {
  constexpr bool says = requires(Stop& stop) {
    { stop() } -> std::convertible_to<bool>;
  };
  static_assert(says,
                "say when to stop by a function without parameters that returns a bool: "
                "[&] { return stopped.load(); }");
  return says;
}

/// Hints to the processor that this loop waits. The hint saves power, lets the other thread of the
/// core run, and avoids the penalty of a mispredicted order of loads at the end of the loop. Does
/// nothing on processors whose hint is not known here.
inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

struct completion_queue_traits {
  using native_type = ibv_cq;
  static constexpr std::string_view destroy_verb = "ibv_destroy_cq";
  static int destroy(ibv_cq* queue) noexcept { return ibv_destroy_cq(queue); }
  static void for_each_parent(const ibv_cq* queue, callable_ref<const void*> function) noexcept {
    function(queue->context);
    function(queue->channel);
  }
  static void describe(const ibv_cq* queue, text_writer& writer) noexcept {
    put_device(writer, queue->context).put(" cq ").decimal(queue->handle);
  }
};

// The part of a queue that both engines have.
[[nodiscard]] inline ibv_cq* plain_queue(ibv_cq* queue) noexcept { return queue; }
[[nodiscard]] inline ibv_cq* plain_queue(ibv_cq_ex* queue) noexcept {
  return ibv_cq_ex_to_cq(queue);
}
[[nodiscard]] inline const ibv_cq* plain_queue(const ibv_cq_ex* queue) noexcept {
  return ibv_cq_ex_to_cq(const_cast<ibv_cq_ex*>(queue));
}

/// Converts a period for the C API, rounded up to whole microseconds. The result exceeds 16 bits if
/// the period is too long or negative.
template <duration_like Duration>
[[nodiscard]] constexpr std::uint32_t moderation_microseconds(const Duration& period) noexcept {
  const double wanted = in_nanoseconds(period) / 1000;
  if (!(wanted >= 0 && wanted <= 0xffff)) return 0x1'0000;
  const auto whole = static_cast<std::uint32_t>(wanted);
  return static_cast<double>(whole) < wanted ? whole + 1 : whole;
}

/// Operations on a completion queue of either engine, owned or referenced.
template <class Native>
class common_completion_queue_base : public handle_base<Native> {
 public:
  using handle_base<Native>::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return this->native_handle()->context; }
  /// Returns the number of completions that it holds: at least the requested number.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(this->native_handle()->cqe);
  }
  /// Returns how many of these are reserved, by send windows and by `completion_reservation`s.
  [[nodiscard]] std::size_t reserved() const noexcept {
    return detail::reserved_completions::instance().of(plain());
  }
  /// Returns the channel for its events, or an empty reference if it has none.
  [[nodiscard]] completion_channel_ref channel() const noexcept {
    return this->native_handle()->channel;
  }
  /// Returns the pointer that was passed at creation.
  [[nodiscard]] void* user_context() const noexcept { return this->native_handle()->cq_context; }

  /// Requests one event on the channel for the next completion, or (`solicited_only`) for the next
  /// solicited message or error. A completion that is already there generates no event: prefer
  /// `wait` and `arm_and_poll`, which handle this. Wraps: ibv_req_notify_cq(3).
  void request_notification(bool solicited_only = false, on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "ibv_req_notify_cq", this->native_handle())) return;
    const int result = ibv_req_notify_cq(plain(), solicited_only ? 1 : 0);
    detail::check_returned(policy, "ibv_req_notify_cq", result, on_queue());
  }

  /// Resizes the queue to hold at least `capacity` completions; `capacity()` returns the actual
  /// number. Completions and reservations stay, so the queue cannot become smaller than either.
  /// Fails with EBUSY if `capacity` is less than the reserved entries. Do not call it while another
  /// thread polls. Wraps: ibv_resize_cq(3).
  void resize(std::size_t capacity, on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "ibv_resize_cq", this->native_handle())) return;
    const std::size_t needed = reserved();
    const int result =
        capacity < needed ? EBUSY : ibv_resize_cq(plain(), detail::entries_of(capacity));
    detail::check_returned(policy, "ibv_resize_cq", result, [&](failure_description& description) {
      on_queue()(description);
      if (capacity < needed) return detail::explain_reserved(description, needed);
      if (description.code() != std::errc::invalid_argument) return;
      description.explain([&](text_writer& writer) {
        detail::explain_resize(writer, context(), this->capacity(), capacity);
      });
    });
  }

  /// Delays an event until this many completions arrive, or until this long after the first of
  /// them. The period is any duration, rounded up to microseconds. Fails with EINVAL if either
  /// exceeds 65535. Wraps: ibv_modify_cq(3).
  template <duration_like Duration>
  void moderate(std::uint32_t completions, const Duration& period,
                on_failure policy = throwing{}) const {
    const std::uint32_t microseconds = detail::moderation_microseconds(period);
    if (!detail::check_present(policy, "ibv_modify_cq", this->native_handle()) ||
        !holds(policy, "ibv_modify_cq", completions <= 0xffff && microseconds <= 0xffff,
               "completions are moderated by at most 65535 of them and 65535 microseconds"))
      return;
    ibv_modify_cq_attr attributes{};
    attributes.attr_mask = IBV_CQ_ATTR_MODERATE;
    attributes.moderate.cq_count = static_cast<std::uint16_t>(completions);
    attributes.moderate.cq_period = static_cast<std::uint16_t>(microseconds);
    const int result = ibv_modify_cq(plain(), &attributes);
    detail::check_returned(policy, "ibv_modify_cq", result, [&](failure_description& description) {
      on_queue()(description);
      description.explain([&](text_writer& writer) {
        detail::explain_moderation(writer, context(), completions, microseconds);
      });
    });
  }

 protected:
  // The loops of both engines. `poll(policy)` polls the queue and returns a number of completions.

  /// Blocks until `poll` returns completions, or until the deadline.
  template <class Poll>
  std::size_t wait_with(const Poll& poll, const detail::deadline& deadline,
                        on_failure policy) const {
    constexpr std::string_view verb = "completion_queue::wait";
    if (!holds(policy, verb, static_cast<bool>(channel()), "the queue was made without a channel"))
      return 0;
    while (true) {
      std::size_t count = poll(policy);
      if (count != 0 || policy.failed()) return count;
      request_notification(false, policy);
      if (policy.failed()) return 0;
      count = poll(policy);
      if (policy.failed()) return count;
      // A completion in between may have left an event, which must not pile up with later ones.
      // See docs/decisions.md, "wait() takes the event that it did not need".
      while (count != 0 && channel().has_event())
        if (!take_event(policy, verb)) return count;
      if (count != 0 || deadline.wait_readable(channel().file_descriptor()) != wait_end::readable)
        return count;
      if (!take_event(policy, verb)) return 0;
    }
  }

  /// Polls until there are completions, for at most this long. `fits` checks whether there is room
  /// for any, and reports if not. The empty path is out of line, and `poll` is called in one place
  /// only, so that it can be inlined.
  template <class Poll, class Fits, class Timeout>
  std::size_t busy_poll_with(const Poll& poll, Fits fits, Timeout timeout,
                             on_failure policy) const {
    std::optional<detail::spin_deadline> deadline;
    while (this->native_handle() != nullptr) {
      const std::size_t count = poll(policy);
      if (count != 0 || policy.failed()) [[likely]]
        return count;
      if (!goes_on(deadline, fits, timeout, policy)) return 0;
    }
    fits(policy);
    return 0;
  }

  /// Polls without sleeping until `stop` returns true, and returns the number of completions.
  template <class Poll, class Stop>
  std::size_t poll_until_with(const Poll& poll, Stop& stop, on_failure policy) const {
    return repeat_until(
        [&](on_failure policy_of_step) {
          const std::size_t count = poll(policy_of_step);
          if (count == 0) detail::pause_processor();
          return count;
        },
        stop, policy);
  }

  /// Does the same, but sleeps while there are no completions, for at most `interval` at a time.
  template <class Poll, class Stop>
  std::size_t wait_until_with(const Poll& poll, Stop& stop, timeout interval,
                              on_failure policy) const {
    return repeat_until(
        [&](on_failure policy_of_step) {
          return wait_with(poll, detail::deadline{interval}, policy_of_step);
        },
        stop, policy);
  }

  /// Empties the queue, arms it, and empties it again.
  template <class Poll>
  void arm_and_poll_with(const Poll& poll, on_failure policy) const {
    const auto drain = [&] {
      while (poll(policy) != 0)
        if (policy.failed()) return;
    };
    drain();
    if (policy.failed()) return;
    request_notification(false, policy);
    if (policy.failed()) return;
    drain();
  }

  /// Fails if the queue object is empty, or if the caller has no room for completions.
  bool has_room(on_failure policy, std::string_view verb, std::size_t room,
                std::string_view otherwise) const {
    return detail::check_present(policy, verb, this->native_handle()) &&
           holds(policy, verb, room != 0, otherwise);
  }

  [[nodiscard]] auto on_queue() const noexcept {
    return detail::on_object<detail::completion_queue_traits>(plain());
  }

 private:
  [[nodiscard]] ibv_cq* plain() const noexcept {
    return detail::plain_queue(this->native_handle());
  }

  /// The empty path of busy_poll_with. Returns false if the loop must end.
  template <class Fits, class Timeout>
  [[gnu::noinline]] static bool goes_on(std::optional<detail::spin_deadline>& deadline, Fits fits,
                                        Timeout timeout, on_failure policy) {
    if (!deadline) {
      if (!fits(policy)) return false;
      deadline.emplace(timeout);
    }
    if (deadline->passed()) return false;
    detail::pause_processor();
    return true;
  }

  /// Calls `take`, which returns a number of completions, until `stop` is true or `take` fails.
  template <class Take, class Stop>
  static std::size_t repeat_until(const Take& take, Stop& stop, on_failure policy) {
    std::size_t total = 0;
    while (!stop()) {
      total += take(policy);
      if (policy.failed()) break;
    }
    return total;
  }

  /// Takes an event of this queue off the channel. Returns false if there is none.
  bool take_event(on_failure policy, std::string_view verb) const {
    const auto event = channel().next_event(policy);
    return event && holds(policy, verb, event->native_handle() == plain(),
                          "an event of another queue came: a channel that several queues share "
                          "needs next_event and arm_and_poll");
  }

  /// Fails with EINVAL if a condition does not hold.
  bool holds(on_failure policy, std::string_view verb, bool condition,
             std::string_view otherwise) const {
    return detail::check_returned(policy, verb, condition ? 0 : EINVAL,
                                  [&](failure_description& description) {
                                    on_queue()(description);
                                    description.explain(otherwise);
                                  });
  }
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/common_completion_queue.ipp>
#endif
