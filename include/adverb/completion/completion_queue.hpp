// SPDX-License-Identifier: MIT
// Completion queues, polled and waited on.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_queue_options.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The type of `up_to`.
template <std::size_t Limit>
struct up_to_t {
  static_assert(Limit != 0, "at least one completion has to be taken at a time");
  constexpr operator std::size_t() const noexcept { return Limit; }
};

/// Limits a call to this many completions at a time. With it, the completion queues of both engines
/// have the same calls, which pass each completion separately:
///
///     queue.poll(up_to<16>, [](const auto& done) { handle(done); });
///
/// If an exception ends such a call, the classic queue loses the completions that were polled
/// together with the current one; the extended queue keeps them. The extended queue may be locked
/// while the function runs: see polled_completions.
template <std::size_t Limit>
inline constexpr up_to_t<Limit> up_to{};

namespace detail {

/// Operations on a completion queue, owned or referenced.
class completion_queue_base : public common_completion_queue_base<ibv_cq> {
  /// Returns the poll function for the loops that all queues share.
  [[nodiscard]] auto poll_into(std::span<completion> out) const noexcept {
    return [this, out](on_failure policy) { return poll(out, policy).size(); };
  }

  /// Returns the same for loops that pass completions to a function.
  template <class Consume>
  [[nodiscard]] auto hand_to(Consume& consume, std::span<completion> batch) const noexcept {
    return [this, &consume, batch](on_failure policy) {
      const std::span<completion> found = poll(batch, policy);
      if (!found.empty()) consume(found);
      return found.size();
    };
  }

  template <class Consume>
  static std::size_t hand_over(std::span<const completion> found, Consume& consume) {
    if constexpr (detail::takes_each<Consume, completion>())
      for (const completion& each : found) consume(each);
    return found.size();
  }
  template <class Consume>
  [[nodiscard]] static auto handing_over_to(Consume& consume) noexcept {
    return [&consume](std::span<const completion> found) { hand_over(found, consume); };
  }

 public:
  using common_completion_queue_base::common_completion_queue_base;

  /// The available fields of a completion, in the terms of the extended queue.
  static constexpr completion_fields fields = standard_completion_fields;

  /// Polls the available completions into `out`, as many as it has room for, and returns them.
  /// Thread safe. Wraps: ibv_poll_cq(3).
  [[nodiscard, gnu::always_inline]] std::span<completion> poll(
      std::span<completion> out, on_failure policy = throwing{}) const {
    ibv_cq* const queue = native_handle();
    detail::require_present("ibv_poll_cq", queue);
    const int count =
        ibv_poll_cq(queue, static_cast<int>(out.size()), detail::native_completions(out.data()));
    detail::after_poll_of(queue);
    return out.first(detail::check_polled(policy, "ibv_poll_cq", count, on_queue()));
  }

  /// Polls all completions, arms the queue for the next event, and polls again, so that no
  /// completion remains without an event. Calls `consume` with spans of completions inside `batch`.
  /// In an event loop, call it once before the first wait, and then for each queue that the channel
  /// returns. An exception from `consume` loses the unread completions of its span, and leaves the
  /// queue unarmed.
  template <class Consume>
  void arm_and_poll(std::span<completion> batch, Consume&& consume,
                    on_failure policy = throwing{}) const {
    if constexpr (detail::takes_spans<Consume>())
      if (fits(batch, "completion_queue::arm_and_poll", policy))
        arm_and_poll_with(hand_to(consume, batch), policy);
  }

  /// Blocks until there are completions, without spinning, and returns at least one. The queue
  /// needs a channel of its own: fails with EINVAL on an event of another queue; use `arm_and_poll`
  /// for shared channels. Returns none if a signal handler interrupts it, unless the handler was
  /// installed with SA_RESTART, as std::signal does (with a timeout, any handler interrupts it).
  /// Returns none if the channel is non-blocking and there are no completions; the next one then
  /// generates an event on the channel. Not thread safe.
  [[nodiscard]] std::span<completion> wait(std::span<completion> out,
                                           on_failure policy = throwing{}) const {
    return wait_for(out, detail::deadline{}, policy);
  }

  /// Blocks like `wait` without a timeout, but for at most `limit`, a duration of any type. On
  /// timeout it returns none and leaves the queue armed.
  [[nodiscard]] std::span<completion> wait(std::span<completion> out, timeout limit,
                                           on_failure policy = throwing{}) const {
    return wait_for(out, detail::deadline{limit}, policy);
  }

  /// Polls without sleeping until there are completions or the timeout expires, and returns them.
  /// Its latency is below that of an event. Needs no channel. Completions that are already there
  /// cost the same as in `poll`. Otherwise it pauses the processor between polls, and returns late
  /// by at most about a microsecond, or by one poll if that takes longer.
  template <class Timeout>
    requires(!detail::takes_failure<Timeout>)
  [[nodiscard]] std::span<completion> busy_poll(std::span<completion> out, const Timeout& timeout,
                                                on_failure policy = throwing{}) const {
    const auto has_room = [this, out](on_failure policy_of_step) {
      return fits(out, "completion_queue::busy_poll", policy_of_step);
    };
    return out.first(busy_poll_with(poll_into(out), has_room, timeout, policy));
  }

  /// Polls without sleeping until `stop()` returns true, and calls `consume` with spans of the
  /// completions, inside `batch`. Returns the number of completions.
  ///
  ///     queue.poll_until(batch, handle, [&] { return stopped.load(); });
  ///
  /// The loop calls `stop` before each poll. So when it returns, `consume` has received every
  /// polled completion, and later completions stay in the queue. A failed poll ends the loop with
  /// its error. An exception from `consume` or `stop` ends the loop, and loses the unread
  /// completions of the span passed to `consume`.
  template <class Consume, class Stop>
  std::size_t poll_until(std::span<completion> batch, Consume&& consume, Stop&& stop,
                         on_failure policy = throwing{}) const {
    if constexpr (detail::takes_spans<Consume>() && detail::says_when_to_stop<Stop>())
      if (fits(batch, "completion_queue::poll_until", policy))
        return poll_until_with(hand_to(consume, batch), stop, policy);
    return 0;
  }

  /// Runs like `poll_until`, but sleeps while there are no completions. Calls `stop` after each
  /// span, after each signal handler, and whenever `interval` passes without a completion. Setting
  /// the flag that `stop` reads does not wake the loop. Needs a channel of its own, like `wait`.
  /// Not thread safe.
  template <class Consume, class Stop>
  std::size_t wait_until(std::span<completion> batch, Consume&& consume, Stop&& stop,
                         timeout interval, on_failure policy = throwing{}) const {
    if constexpr (detail::takes_spans<Consume>() && detail::says_when_to_stop<Stop>())
      if (fits(batch, "completion_queue::wait_until", policy))
        return wait_until_with(hand_to(consume, batch), stop, interval, policy);
    return 0;
  }

  // The same calls for code that takes either engine: at most `Limit` completions at a time, each
  // passed separately. `poll`, `wait` and `busy_poll` return the number of completions.

  template <std::size_t Limit, class Consume>
  std::size_t poll(up_to_t<Limit>, Consume&& consume, on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return hand_over(poll(batch, policy), consume);
  }
  template <std::size_t Limit, class Consume>
  std::size_t wait(up_to_t<Limit>, Consume&& consume, on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return hand_over(wait(batch, policy), consume);
  }
  template <std::size_t Limit, class Consume>
  std::size_t wait(up_to_t<Limit>, Consume&& consume, timeout limit,
                   on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return hand_over(wait(batch, limit, policy), consume);
  }
  template <std::size_t Limit, class Consume, class Timeout>
    requires(!detail::takes_failure<Timeout>)
  std::size_t busy_poll(up_to_t<Limit>, Consume&& consume, const Timeout& timeout,
                        on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return hand_over(busy_poll(batch, timeout, policy), consume);
  }
  template <std::size_t Limit, class Consume>
  void arm_and_poll(up_to_t<Limit>, Consume&& consume, on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    arm_and_poll(batch, handing_over_to(consume), policy);
  }
  template <std::size_t Limit, class Consume, class Stop>
  std::size_t poll_until(up_to_t<Limit>, Consume&& consume, Stop&& stop,
                         on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return poll_until(batch, handing_over_to(consume), stop, policy);
  }
  template <std::size_t Limit, class Consume, class Stop>
  std::size_t wait_until(up_to_t<Limit>, Consume&& consume, Stop&& stop, timeout interval,
                         on_failure policy = throwing{}) const {
    std::array<completion, Limit> batch;
    return wait_until(batch, handing_over_to(consume), stop, interval, policy);
  }

 private:
  [[nodiscard]] std::span<completion> wait_for(std::span<completion> out,
                                               const detail::deadline& deadline,
                                               on_failure policy) const;

  bool fits(std::span<completion> out, std::string_view verb, on_failure policy) const {
    return has_room(policy, verb, out.size(),
                    "there is no room for completions: the span is empty");
  }
};

}  // namespace detail

/// Refers to a completion queue that another object keeps alive. As cheap as a pointer; pass it by
/// value.
class completion_queue_ref : public detail::reference_to<detail::completion_queue_base> {
 public:
  using reference_to::reference_to;
};

/// Owns a completion queue. Polling is thread safe, unless it was created single threaded.
class [[nodiscard]] completion_queue
    : public detail::owner<detail::completion_queue_base, detail::completion_queue_traits> {
 public:
  using owner::owner;

  /// Creates a queue for at least `capacity` completions. It must have room for the completions of
  /// all requests in progress: a queue that overflows is lost, with all its queue pairs.
  /// Wraps: ibv_create_cq(3), ibv_create_cq_ex(3).
  completion_queue(context_ref context, std::size_t capacity, completion_queue_options options,
                   on_failure policy = throwing{})
      : owner{adverb::adopt,
              detail::make_object(
                  policy,
                  detail::need_extended_creation(options) ? "ibv_create_cq_ex" : "ibv_create_cq",
                  [&] { return create(context, capacity, options); },
                  detail::explaining_creation(context, capacity, options), context)} {}

  completion_queue(context_ref context, std::size_t capacity, on_failure policy = throwing{})
      : completion_queue{context, capacity, completion_queue_options{}, policy} {}

  /// Rejected at compile time: explains the arguments for creating a queue.
  template <class Argument, class... Rest>
    requires(!detail::takes_failure<Argument> &&
             !std::convertible_to<const Argument&, completion_queue_options>)
  completion_queue(context_ref, std::size_t, const Argument&, const Rest&...) {
    static_assert(detail::takes_failure<Argument>,
                  "a completion queue is made with (context, capacity, options, why): the channel, "
                  "the vector and the user context are options, {.channel = channel}");
  }

 private:
  static ibv_cq* create(context_ref context, std::size_t capacity,
                        const completion_queue_options& options) noexcept;
};

/// Reserves entries of a completion queue for one of its users, so that it never overflows. A user
/// that may have n requests in progress reserves n entries. Send windows do so by themselves;
/// programs do so for their receives:
///
///     const completion_reservation for_receives{queue, 64};
///
/// It only counts: posting and polling check nothing. The count covers all reservations of a queue
/// in the whole program. The queue must outlive it. Any thread can create and destroy it.
class [[nodiscard]] completion_reservation {
 public:
  /// Constructs an empty reservation, without a queue.
  completion_reservation() noexcept = default;

  /// Reserves entries. Fails with ENOBUFS if the current capacity of the queue has too few left.
  completion_reservation(completion_queue_ref queue, std::size_t entries,
                         on_failure policy = throwing{})
      : completion_reservation{queue, entries, "completion_reservation", policy} {}

  completion_reservation(completion_reservation&& other) noexcept
      : queue_{std::exchange(other.queue_, nullptr)}, entries_{std::exchange(other.entries_, 0)} {}
  completion_reservation& operator=(completion_reservation&& other) noexcept;
  ~completion_reservation() { give_back(); }

  [[nodiscard]] explicit operator bool() const noexcept { return queue_ != nullptr; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

 private:
  template <class Engine>
  friend class send_window;

  /// Reserves entries for `verb`, whose name a failure carries.
  completion_reservation(completion_queue_ref queue, std::size_t entries, std::string_view verb,
                         on_failure policy);

  void give_back() noexcept;

  ibv_cq* queue_ = nullptr;
  std::size_t entries_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_queue.ipp>
#endif
