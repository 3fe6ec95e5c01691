// SPDX-License-Identifier: MIT
// Extended completion queues: more fields per completion, each read only on access.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/polled_completions.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an extended completion queue with `Fields`, owned or referenced.
template <completion_fields Fields>
class extended_completion_queue_base : public common_completion_queue_base<ibv_cq_ex> {
 public:
  using common_completion_queue_base::common_completion_queue_base;

  /// The available fields of a completion.
  static constexpr completion_fields fields = Fields;

  /// Converts to a reference to any completion queue: for queue pairs, and for comparison with the
  /// queue that a channel returns. Poll it only through this type. Wraps: ibv_cq_ex_to_cq(3).
  operator completion_queue_ref() const noexcept { return ibv_cq_ex_to_cq(native_handle()); }

  /// Returns the available completions, at most `limit`, as a range for a single loop:
  ///
  ///     for (const auto& completion : queue.poll()) use(completion.id());
  ///
  /// A failure ends the loop. Without exceptions, check the policy's error after it. On Soft-RoCE
  /// of rdma-core before 55, a loop that empties the queue loses a completion; `poll(1)` does not
  /// (docs/guide/completion.md). Thread safe, unless the queue was created single threaded.
  /// Wraps: ibv_start_poll(3), ibv_next_poll(3), ibv_end_poll(3).
  [[nodiscard]] auto poll(std::size_t limit) const {
    return round(detail::completion_limit{limit}, throwing{});
  }
  [[nodiscard]] auto poll(std::size_t limit, on_failure policy) const {
    return round(detail::completion_limit{limit}, policy);
  }
  /// Returns all available completions, without a limit.
  [[nodiscard]] auto poll() const { return round(detail::no_completion_limit{}, throwing{}); }
  [[nodiscard]] auto poll(on_failure policy) const {
    return round(detail::no_completion_limit{}, policy);
  }
  /// Passes the completions to `consume` one by one and returns their number.
  template <class Consume>
    requires(!detail::takes_failure<Consume>)
  std::size_t poll(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      return hand_to(consume, limit)(policy);
    else
      return 0;
  }
  /// Rejected at compile time: explains how to poll this queue.
  void poll(std::span<completion>) const {
    static_assert(Fields != fields,
                  "an extended completion queue is polled one by one: "
                  "for (const auto& completion : queue.poll())");
  }

  /// Polls all completions in rounds of at most `limit`, arms the queue for the next event, and
  /// polls again, so that no completion remains without an event. Calls `consume` with each
  /// completion. In an event loop, call it once before the first wait, and then each time that the
  /// channel returns the queue. An exception from `consume` leaves the queue unarmed, and keeps the
  /// later completions in it.
  template <class Consume>
  void arm_and_poll(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      if (fits(limit, "completion_queue::arm_and_poll", policy))
        arm_and_poll_with(hand_to(consume, limit), policy);
  }

  /// Blocks until there are completions, without spinning, and calls `consume` with each, at most
  /// `limit`. Returns their number, at least one. The queue needs a channel of its own: fails with
  /// EINVAL on an event of another queue; use `arm_and_poll` for shared channels. Returns 0 if a
  /// signal handler interrupts it, unless the handler was installed with SA_RESTART, as std::signal
  /// does (with a timeout, any handler interrupts it). Returns 0 if the channel is non-blocking and
  /// there are no completions; the next one then generates an event on the channel. Not thread
  /// safe.
  template <class Consume>
  std::size_t wait(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    return wait_for(limit, consume, detail::deadline{}, policy);
  }

  /// Blocks like `wait` without a timeout, but for at most `longest`, a duration of any type. On
  /// timeout it returns 0 and leaves the queue armed.
  template <class Consume>
  std::size_t wait(std::size_t limit, Consume&& consume, timeout longest,
                   on_failure policy = throwing{}) const {
    return wait_for(limit, consume, detail::deadline{longest}, policy);
  }

  /// Rejected at compile time: explains the order of the arguments.
  template <duration_like Duration, class... Rest>
  std::size_t wait(std::size_t, const Duration&, const Rest&...) const {
    static_cast<void>(detail::takes_each<Duration, extended_completion<Fields>>());
    return 0;
  }

  /// Polls without sleeping until there are completions or the timeout expires, and calls `consume`
  /// with each, at most `limit`. Returns their number. Needs no channel. Completions that are
  /// already there cost the same as in `poll`. Otherwise it pauses the processor between polls, and
  /// returns late by at most about a microsecond, or by one poll if that takes longer.
  template <class Consume, class Timeout>
    requires(!detail::takes_failure<Timeout>)
  std::size_t busy_poll(std::size_t limit, Consume&& consume, const Timeout& timeout,
                        on_failure policy = throwing{}) const {
    const auto has_room = [this, limit](on_failure policy_of_step) {
      return fits(limit, "completion_queue::busy_poll", policy_of_step);
    };
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      return busy_poll_with(hand_to(consume, limit), has_room, timeout, policy);
    else
      return 0;
  }

  /// Polls without sleeping until `stop()` returns true, in rounds of at most `limit`, and calls
  /// `consume` with each completion. Returns the number of completions.
  ///
  ///     queue.poll_until(16, handle, [&] { return stopped.load(); });
  ///
  /// The loop calls `stop` before each round. So when it returns, `consume` has received every
  /// polled completion, and later completions stay in the queue. A failed poll ends the loop with
  /// its error. An exception from `consume` or `stop` ends the loop, and leaves the later
  /// completions in the queue.
  template <class Consume, class Stop>
  std::size_t poll_until(std::size_t limit, Consume&& consume, Stop&& stop,
                         on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>() &&
                  detail::says_when_to_stop<Stop>())
      if (fits(limit, "completion_queue::poll_until", policy))
        return poll_until_with(hand_to(consume, limit), stop, policy);
    return 0;
  }

  /// Runs like `poll_until`, but sleeps while there are no completions. Calls `stop` after each
  /// round, after each signal handler, and whenever `interval` passes without a completion. Setting
  /// the flag that `stop` reads does not wake the loop. Needs a channel of its own, like `wait`.
  /// Not thread safe.
  template <class Consume, class Stop>
  std::size_t wait_until(std::size_t limit, Consume&& consume, Stop&& stop, timeout interval,
                         on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>() &&
                  detail::says_when_to_stop<Stop>())
      if (fits(limit, "completion_queue::wait_until", policy))
        return wait_until_with(hand_to(consume, limit), stop, interval, policy);
    return 0;
  }

 private:
  template <class Limit, class Policy>
  [[nodiscard]] polled_completions<Fields, Limit, Policy> round(Limit limit, Policy policy) const {
    return {native_handle(), limit, policy};
  }

  /// Returns the poll function for the loops that all queues share.
  template <class Consume>
  [[nodiscard]] auto hand_to(Consume& consume, std::size_t limit) const noexcept {
    return [this, &consume, limit](on_failure policy) {
      std::size_t count = 0;
      for (const extended_completion<Fields> each : poll(limit, policy)) {
        ++count;
        consume(each);
      }
      return count;
    };
  }

  template <class Consume>
  std::size_t wait_for(std::size_t limit, Consume& consume, const detail::deadline& deadline,
                       on_failure policy) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      if (fits(limit, "completion_queue::wait", policy))
        return wait_with(hand_to(consume, limit), deadline, policy);
    return 0;
  }

  bool fits(std::size_t limit, std::string_view verb, on_failure policy) const {
    return has_room(policy, verb, limit, "no completion may be taken: the limit is 0");
  }
};

struct extended_completion_queue_traits {
  using native_type = ibv_cq_ex;
  using plain = completion_queue_traits;
  static constexpr std::string_view destroy_verb = plain::destroy_verb;
  static int destroy(ibv_cq_ex* queue) noexcept { return plain::destroy(plain_queue(queue)); }
  static void for_each_parent(const ibv_cq_ex* queue, callable_ref<const void*> function) noexcept {
    plain::for_each_parent(plain_queue(queue), function);
  }
  static void describe(const ibv_cq_ex* queue, text_writer& writer) noexcept {
    plain::describe(plain_queue(queue), writer);
  }
};

}  // namespace detail

template <completion_fields Fields = standard_completion_fields>
class extended_completion_queue;

/// Refers to an extended completion queue that another object keeps alive and that has at least
/// `Fields`. As cheap as a pointer; pass it by value.
template <completion_fields Fields = standard_completion_fields>
class extended_completion_queue_ref
    : public detail::reference_to<detail::extended_completion_queue_base<Fields>> {
  using operations = detail::reference_to<detail::extended_completion_queue_base<Fields>>;

 public:
  extended_completion_queue_ref() noexcept = default;
  /// Refers to a queue that was created with at least these fields.
  extended_completion_queue_ref(ibv_cq_ex* queue) noexcept : operations{queue} {}
  template <completion_fields Other>
  extended_completion_queue_ref(const detail::extended_completion_queue_base<Other>& queue) noexcept
      : operations{queue.native_handle()} {
    static_assert(Other.contains(Fields),
                  "the queue was not made with all fields that this reference reads");
  }
  /// Deleted: the reference would outlive a temporary owner.
  template <completion_fields Other>
  extended_completion_queue_ref(const extended_completion_queue<Other>&&) = delete;
};

/// Owns an extended completion queue with `Fields`. An adopted queue must have been created with at
/// least these fields.
template <completion_fields Fields>
class [[nodiscard]] extended_completion_queue
    : public detail::owner<detail::extended_completion_queue_base<Fields>,
                           detail::extended_completion_queue_traits> {
  using operations = detail::owner<detail::extended_completion_queue_base<Fields>,
                                   detail::extended_completion_queue_traits>;

 public:
  using operations::operations;

  /// Creates a queue for at least `capacity` completions. It must have room for the completions of
  /// all requests in progress: a queue that overflows is lost, with all its queue pairs.
  /// Wraps: ibv_create_cq_ex(3).
  extended_completion_queue(context_ref context, std::size_t capacity,
                            completion_queue_options options, on_failure policy = throwing{})
      : operations{adverb::adopt,
                   detail::make_object(
                       policy, "ibv_create_cq_ex",
                       [&] { return detail::create_extended(context, capacity, options, Fields); },
                       detail::explaining_creation(context, capacity, options, Fields), context)} {}

  extended_completion_queue(context_ref context, std::size_t capacity,
                            on_failure policy = throwing{})
      : extended_completion_queue{context, capacity, completion_queue_options{}, policy} {}

  /// Converts to a reference to any completion queue. Deleted for a temporary owner.
  operator completion_queue_ref() const& noexcept {
    return static_cast<const operations&>(*this).operator completion_queue_ref();
  }
  operator completion_queue_ref() const&& = delete;
};

}  // namespace adverb::inline ADVERB_ABI
