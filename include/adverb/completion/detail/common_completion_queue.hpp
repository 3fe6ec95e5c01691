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
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_channel.hpp>
#include <adverb/completion/completion_queue_options.hpp>
#include <adverb/completion/up_to.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <adverb/fwd.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// True if an argument can be meant as the function that gets the completions.
template <class T>
concept may_consume = !takes_failure<T> && !duration_like<std::remove_cvref_t<T>> &&
                      !std::is_arithmetic_v<std::remove_cvref_t<T>>;

/// Returns true if `Consume` accepts a completion.
template <class Consume, class Completion>
consteval bool takes_each() noexcept {
  constexpr bool takes = std::invocable<Consume&, const Completion&>;
  static_assert(takes,
                "the function must take one completion, and precede the timeout and the stop "
                "condition: take a const auto&");
  return takes;
}

/// Returns true if `Stop` can be called without arguments and returns a condition.
template <class Stop>
consteval bool says_when_to_stop() noexcept {
  constexpr bool says = requires(Stop& stop) {
    { stop() } -> std::convertible_to<bool>;
  };
  static_assert(says,
                "the stop condition must be a function without parameters that returns a bool: [&] "
                "{ return stopped.load(); }");
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
  static constexpr const char* destroy_verb = "ibv_destroy_cq";
  static int destroy(ibv_cq* queue) noexcept { return ibv_destroy_cq(queue); }
  static void list_parents(const ibv_cq* queue, parent_visitor& parents) noexcept {
    parents.add(queue->context);
    parents.add(queue->channel);
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
///
/// The calls that pass completions to a function take first how many they poll at a time: the
/// classic queue a span of completions to poll into, the extended queue a number, and both `up_to`.
/// They pass each completion separately, and return the number of completions, except
/// `arm_and_poll`. An exception from the function ends the call: the classic queue loses the
/// completions that it polled together with the current one, the extended queue keeps them. Some
/// providers lock an extended queue while the function runs: see polled_completions.
///
/// `Engine` has the C object (`native_type`), what the function is called with
/// (`completion_type`), and static functions: `room_for` returns the room for one poll, and `poll`
/// polls once.
template <class Engine>
class common_completion_queue_base : public handle_base<typename Engine::native_type> {
  using base = handle_base<typename Engine::native_type>;

 public:
  using base::base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return this->checked_handle()->context; }
  /// Returns the number of completions that it holds: at least the requested number.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(this->checked_handle()->cqe);
  }
  /// Returns how many of these are reserved, by send windows and by `completion_reservation`s.
  [[nodiscard]] std::size_t reserved() const noexcept {
    return detail::lifetime_registry::instance().reserved(plain());
  }
  /// Returns the channel for its events, or an empty reference if it has none.
  [[nodiscard]] completion_channel_ref channel() const noexcept {
    return this->checked_handle()->channel;
  }
  /// Returns the pointer that was passed at creation.
  [[nodiscard]] void* user_context() const noexcept { return this->checked_handle()->cq_context; }

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
      if (!is_code(description.code(), std::errc::invalid_argument)) return;
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
               "moderation takes at most 65535 completions and 65535 microseconds"))
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

  /// Polls once and passes the completions to `consume`. Thread safe, unless the queue was created
  /// single threaded. Wraps: ibv_poll_cq(3), or ibv_start_poll(3), ibv_next_poll(3) and
  /// ibv_end_poll(3).
  template <class Batch, detail::may_consume Consume>
  [[gnu::always_inline]] std::size_t poll(Batch&& batch, Consume&& consume,
                                          on_failure policy = throwing{}) const {
    if constexpr (takes<Batch, Consume>()) {
      auto&& room = Engine::room_for(batch);
      return Engine::poll(this->native_handle(), room, consume, policy);
    } else {
      return 0;
    }
  }

  /// Polls all completions, arms the queue for the next event, and polls again, so that no
  /// completion remains without an event. In an event loop, call it once before the first wait, and
  /// then for each queue that the channel returns. An exception from `consume` leaves the queue
  /// unarmed.
  template <class Batch, detail::may_consume Consume>
  void arm_and_poll(Batch&& batch, Consume&& consume, on_failure policy = throwing{}) const {
    if constexpr (takes<Batch, Consume>())
      run("completion_queue::arm_and_poll", batch, consume, policy,
          [&](const auto& poll) { return arm_and_poll_with(poll, policy); });
  }

  /// Blocks until there are completions, without spinning, and passes them to `consume`. The queue
  /// needs a channel of its own: fails with EINVAL on an event of another queue; use `arm_and_poll`
  /// for shared channels. Returns 0 if a signal handler interrupts it, unless the handler was
  /// installed with SA_RESTART, as std::signal does (with a timeout, any handler interrupts it).
  /// Returns 0 if the channel is non-blocking and there are no completions; the next one then
  /// generates an event on the channel. Not thread safe.
  template <class Batch, detail::may_consume Consume>
  std::size_t wait(Batch&& batch, Consume&& consume, on_failure policy = throwing{}) const {
    return wait_for(batch, consume, detail::deadline{}, policy);
  }

  /// Blocks like `wait` without a timeout, but for at most `longest`, a duration of any type. On
  /// timeout it returns 0 and leaves the queue armed.
  template <class Batch, detail::may_consume Consume>
  std::size_t wait(Batch&& batch, Consume&& consume, timeout longest,
                   on_failure policy = throwing{}) const {
    return wait_for(batch, consume, detail::deadline{longest}, policy);
  }

  /// Rejected at compile time: explains the order of the arguments.
  template <class Batch, duration_like Duration, detail::may_consume Consume, class... Rest>
  std::size_t wait(Batch&&, const Duration&, const Consume&, const Rest&...) const {
    static_cast<void>(detail::takes_each<Duration, typename Engine::completion_type>());
    return 0;
  }

  /// Polls without sleeping until there are completions or the timeout expires, and passes them to
  /// `consume`. Its latency is below that of an event. Needs no channel. Completions that are
  /// already there cost the same as in `poll`. Otherwise it pauses the processor between polls, and
  /// returns late by at most about a microsecond, or by one poll if that takes longer.
  template <class Batch, detail::may_consume Consume, class Timeout>
    requires(!detail::takes_failure<Timeout>)
  std::size_t busy_poll(Batch&& batch, Consume&& consume, const Timeout& timeout,
                        on_failure policy = throwing{}) const {
    if constexpr (takes<Batch, Consume>()) {
      auto&& room = Engine::room_for(batch);
      return busy_poll_with(hand_to(consume, room), room, timeout, policy);
    } else {
      return 0;
    }
  }

  /// Polls without sleeping until `stop()` returns true, and passes the completions to `consume`.
  ///
  ///     queue.poll_until(up_to<16>, handle, [&] { return stopped.load(); });
  ///
  /// The loop calls `stop` before each poll. So when it returns, `consume` has received every
  /// polled completion, and later completions stay in the queue. A failed poll ends the loop with
  /// its error; an exception from `consume` or `stop` ends it too.
  template <class Batch, detail::may_consume Consume, class Stop>
  std::size_t poll_until(Batch&& batch, Consume&& consume, Stop&& stop,
                         on_failure policy = throwing{}) const {
    if constexpr (takes<Batch, Consume>() && detail::says_when_to_stop<Stop>())
      return run("completion_queue::poll_until", batch, consume, policy,
                 [&](const auto& poll) { return poll_until_with(poll, stop, policy); });
    else
      return 0;
  }

  /// Runs like `poll_until`, but sleeps while there are no completions. Calls `stop` after each
  /// poll, after each signal handler, and whenever `interval` passes without a completion. Setting
  /// the flag that `stop` reads does not wake the loop. Needs a channel of its own, like `wait`.
  /// Not thread safe.
  template <class Batch, detail::may_consume Consume, class Stop>
  std::size_t wait_until(Batch&& batch, Consume&& consume, Stop&& stop, timeout interval,
                         on_failure policy = throwing{}) const {
    if constexpr (takes<Batch, Consume>() && detail::says_when_to_stop<Stop>())
      return run("completion_queue::wait_until", batch, consume, policy,
                 [&](const auto& poll) { return wait_until_with(poll, stop, interval, policy); });
    else
      return 0;
  }

 protected:
  // The loops of both engines. `poll(policy)` polls the queue and returns a number of completions.

  /// Blocks until `poll` returns completions, or until the deadline.
  template <class Poll>
  std::size_t wait_with(const Poll& poll, const detail::deadline& deadline,
                        on_failure policy) const {
    constexpr const char* verb = "completion_queue::wait";
    if (!holds(policy, verb, static_cast<bool>(channel()), "the queue has no completion channel"))
      return 0;
    // `poll` is called in one place only, because it is inlined.
    bool armed = false;
    while (true) {
      const std::size_t count = poll(policy);
      if (policy.failed() || (!armed && count != 0)) return count;
      if (!armed) {
        request_notification(false, policy);
        if (policy.failed()) return 0;
        armed = true;
        continue;
      }
      // A completion in between may have left an event, which must not pile up with later ones.
      // See docs/decisions.md, "wait() takes the event that it did not need".
      while (count != 0 && channel().has_event())
        if (!take_event(policy, verb)) return count;
      if (count != 0 || deadline.wait_readable(channel().file_descriptor()) != wait_end::readable)
        return count;
      if (!take_event(policy, verb)) return 0;
      armed = false;
    }
  }

  /// Polls until there are completions, for at most this long. The empty path is out of line, and
  /// `poll` is called in one place only, so that it can be inlined.
  template <class Poll, class Room, class Timeout>
  std::size_t busy_poll_with(const Poll& poll, Room& room, Timeout timeout,
                             on_failure policy) const {
    std::optional<detail::spin_deadline> deadline;
    while (this->native_handle() != nullptr) {
      const std::size_t count = poll(policy);
      if (count != 0 || policy.failed()) [[likely]]
        return count;
      if (!goes_on(deadline, Engine::size_of(room), timeout, policy)) return 0;
    }
    fits(room, busy_poll_verb, policy);
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

  /// Fails if the queue object is empty, or if there is no room for completions.
  template <class Room>
  bool fits(Room& room, const char* verb, on_failure policy) const {
    return has_room(policy, verb, Engine::size_of(room));
  }

  [[nodiscard]] auto on_queue() const noexcept {
    return detail::on_object<detail::completion_queue_traits>(plain());
  }

  /// Fails with EINVAL if a condition does not hold.
  [[gnu::noinline]] bool holds(on_failure policy, const char* verb, bool condition,
                               const char* otherwise) const {
    return detail::check_returned(policy, verb, condition ? 0 : EINVAL,
                                  [&](failure_description& description) {
                                    on_queue()(description);
                                    description.explain(otherwise);
                                  });
  }

 private:
  static constexpr const char* busy_poll_verb = "completion_queue::busy_poll";

  template <class Batch, class Consume>
  static consteval bool takes() noexcept {
    return Engine::template takes<Batch>() &&
           detail::takes_each<Consume, typename Engine::completion_type>();
  }

  /// Returns the poll function for the loops, which passes each completion to `consume`.
  template <class Consume, class Room>
  [[nodiscard]] auto hand_to(Consume& consume, Room& room) const noexcept {
    return [this, &consume, &room](on_failure policy) {
      return Engine::poll(this->native_handle(), room, consume, policy);
    };
  }

  /// Returns the result of `loop`, which gets the poll function; 0 if there is no room.
  template <class Batch, class Consume, class Loop>
  auto run(const char* verb, Batch& batch, Consume& consume, on_failure policy,
           const Loop& loop) const {
    auto&& room = Engine::room_for(batch);
    using result = decltype(loop(hand_to(consume, room)));
    return fits(room, verb, policy) ? loop(hand_to(consume, room)) : result();
  }

  template <class Batch, class Consume>
  std::size_t wait_for(Batch& batch, Consume& consume, const detail::deadline& deadline,
                       on_failure policy) const {
    if constexpr (takes<Batch, Consume>())
      return run("completion_queue::wait", batch, consume, policy,
                 [&](const auto& poll) { return wait_with(poll, deadline, policy); });
    else
      return 0;
  }

  bool has_room(on_failure policy, const char* verb, std::size_t room) const {
    return detail::check_present(policy, verb, this->native_handle()) &&
           holds(policy, verb, room != 0, Engine::no_room);
  }

  [[nodiscard]] ibv_cq* plain() const noexcept {
    return detail::plain_queue(this->native_handle());
  }

  /// The empty path of busy_poll_with. Returns false if the loop must end.
  template <class Timeout>
  [[gnu::noinline]] bool goes_on(std::optional<detail::spin_deadline>& deadline, std::size_t room,
                                 Timeout timeout, on_failure policy) const {
    if (!deadline) {
      if (!has_room(policy, busy_poll_verb, room)) return false;
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
  bool take_event(on_failure policy, const char* verb) const {
    const auto event = channel().next_event(policy);
    return event && holds(policy, verb, event->native_handle() == plain(),
                          "the event belongs to another queue: a channel that several queues share "
                          "needs next_event and arm_and_poll");
  }
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
