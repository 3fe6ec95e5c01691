// SPDX-License-Identifier: MIT
// Extended completion queues: they tell more of a completion, and only what is asked for.
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

/// What an extended completion queue can do, whether it is owned or referred to. `Fields` are what
/// it was made to tell.
template <completion_fields Fields>
class extended_completion_queue_base : public common_completion_queue_base<ibv_cq_ex> {
 public:
  using common_completion_queue_base::common_completion_queue_base;

  /// What it tells of a completion.
  static constexpr completion_fields fields = Fields;

  /// The same queue for those who take any: queue pairs, and comparing with what a channel names.
  /// It has to be polled through this type alone. Wraps: ibv_cq_ex_to_cq(3).
  operator completion_queue_ref() const noexcept { return ibv_cq_ex_to_cq(native_handle()); }

  /// The completions that are there, at most `limit`, as a range to go through once:
  ///
  ///     for (const auto& completion : queue.poll()) use(completion.id());
  ///
  /// A failure ends the loop: without exceptions, look at the policy's error after it. A loop that
  /// empties the queue loses a completion on Soft-RoCE of rdma-core before 55; `poll(1)` does not
  /// (docs/guide/completion.md). Thread safe, unless the queue was made single threaded. Wraps:
  /// ibv_start_poll(3), ibv_next_poll(3), ibv_end_poll(3).
  [[nodiscard]] auto poll(std::size_t limit) const {
    return round(detail::completion_limit{limit}, throwing{});
  }
  [[nodiscard]] auto poll(std::size_t limit, on_failure policy) const {
    return round(detail::completion_limit{limit}, policy);
  }
  /// The same without a limit.
  [[nodiscard]] auto poll() const { return round(detail::no_completion_limit{}, throwing{}); }
  [[nodiscard]] auto poll(on_failure policy) const {
    return round(detail::no_completion_limit{}, policy);
  }
  /// The same, handed to `consume` one by one; returns how many there were.
  template <class Consume>
    requires(!detail::takes_failure<Consume>)
  std::size_t poll(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      return hand_to(consume, limit)(policy);
    else
      return 0;
  }
  /// Does not compile: says how it is done.
  void poll(std::span<completion>) const {
    static_assert(Fields != fields,
                  "an extended completion queue is polled one by one: "
                  "for (const auto& completion : queue.poll())");
  }

  /// Takes everything off the queue, in rounds of at most `limit`, asks for the next event, and
  /// takes off what came in between, so that no completion is left behind without an event.
  /// `consume` is called with each completion. For event loops: call it once before the first wait,
  /// and then for each time that the channel names the queue. An exception from `consume` leaves
  /// the queue unarmed, and the completions after that one in it.
  template <class Consume>
  void arm_and_poll(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>())
      if (fits(limit, "completion_queue::arm_and_poll", policy))
        arm_and_poll_with(hand_to(consume, limit), policy);
  }

  /// Waits for completions without spinning, calls `consume` with each, at most `limit`, and
  /// returns how many there were, at least one. The queue needs a channel of its own: an event of
  /// another queue is reported (EINVAL), for such channels there is `arm_and_poll`. Returns 0 when
  /// a signal handler ran meanwhile (not one that was installed with SA_RESTART, as std::signal
  /// does: with a timeout, any), and, when the channel is non-blocking, when there are none: the
  /// next one then gives an event on the channel. By one thread at a time.
  template <class Consume>
  std::size_t wait(std::size_t limit, Consume&& consume, on_failure policy = throwing{}) const {
    return wait_for(limit, consume, detail::deadline{}, policy);
  }

  /// The same for at most this long, which is any duration: returns 0, and leaves the queue armed,
  /// when none came in time.
  template <class Consume>
  std::size_t wait(std::size_t limit, Consume&& consume, timeout longest,
                   on_failure policy = throwing{}) const {
    return wait_for(limit, consume, detail::deadline{longest}, policy);
  }

  /// Does not compile: says what comes first.
  template <duration_like Duration, class... Rest>
  std::size_t wait(std::size_t, const Duration&, const Rest&...) const {
    return detail::takes_each<Duration, extended_completion<Fields>>() ? 1 : 0;
  }

  /// Polls without sleeping until there are completions, for at most this long, calls `consume`
  /// with each, at most `limit`, and returns how many there were. Needs no channel. Completions
  /// that are there already cost what `poll` costs; otherwise it pauses the processor between
  /// polls, and returns late by at most about a microsecond, or by a poll where that takes longer.
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

  /// Polls without sleeping until `stop()` is true, in rounds of at most `limit`, and calls
  /// `consume` with each completion. Returns how many there were.
  ///
  ///     queue.poll_until(16, handle, [&] { return stopped.load(); });
  ///
  /// `stop` is asked before each round, so every completion that was taken off the queue has been
  /// handed over when it ends, and what came later stays in the queue. A poll that fails ends it
  /// and is reported. An exception from `consume` or `stop` ends it, and leaves the completions
  /// after that one in the queue.
  template <class Consume, class Stop>
  std::size_t poll_until(std::size_t limit, Consume&& consume, Stop&& stop,
                         on_failure policy = throwing{}) const {
    if constexpr (detail::takes_each<Consume, extended_completion<Fields>>() &&
                  detail::says_when_to_stop<Stop>())
      if (fits(limit, "completion_queue::poll_until", policy))
        return poll_until_with(hand_to(consume, limit), stop, policy);
    return 0;
  }

  /// The same asleep while there are no completions. `stop` is asked after each round, after each
  /// signal handler, and when nothing came for the time of `interval`: setting what it looks at
  /// does not wake the loop. Needs a channel of its own, like `wait`. By one thread at a time.
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

  /// How the loops of every queue poll this one.
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
  template <class Function>
  static void for_each_parent(const ibv_cq_ex* queue, const Function& function) noexcept {
    plain::for_each_parent(plain_queue(queue), function);
  }
  static void describe(const ibv_cq_ex* queue, text_writer& writer) noexcept {
    plain::describe(plain_queue(queue), writer);
  }
};

}  // namespace detail

template <completion_fields Fields = standard_completion_fields>
class extended_completion_queue;

/// Refers to an extended completion queue that something else keeps alive and that tells at least
/// `Fields`. As cheap as the pointer, to be passed by value.
template <completion_fields Fields = standard_completion_fields>
class extended_completion_queue_ref
    : public detail::reference_to<detail::extended_completion_queue_base<Fields>> {
  using operations = detail::reference_to<detail::extended_completion_queue_base<Fields>>;

 public:
  extended_completion_queue_ref() noexcept = default;
  /// Of a queue that was made with these fields, or more.
  extended_completion_queue_ref(ibv_cq_ex* queue) noexcept : operations{queue} {}
  template <completion_fields Other>
  extended_completion_queue_ref(const detail::extended_completion_queue_base<Other>& queue) noexcept
      : operations{queue.native_handle()} {
    static_assert(Other.contains(Fields),
                  "the queue was not made with all fields that this reference reads");
  }
  /// An owner that is about to die cannot be referred to.
  template <completion_fields Other>
  extended_completion_queue_ref(const extended_completion_queue<Other>&&) = delete;
};

/// An extended completion queue, which tells `Fields` of its completions. One that is adopted has
/// to have been made with these fields, or more.
template <completion_fields Fields>
class [[nodiscard]] extended_completion_queue
    : public detail::owner<detail::extended_completion_queue_base<Fields>,
                           detail::extended_completion_queue_traits> {
  using operations = detail::owner<detail::extended_completion_queue_base<Fields>,
                                   detail::extended_completion_queue_traits>;

 public:
  using operations::operations;

  /// Makes a queue for at least `capacity` completions. It has to hold those of all requests that
  /// are in progress at once: one that overflows is lost with all its queue pairs.
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

  /// The queue for those who take any. An owner that is about to die cannot be referred to.
  operator completion_queue_ref() const& noexcept {
    return static_cast<const operations&>(*this).operator completion_queue_ref();
  }
  operator completion_queue_ref() const&& = delete;
};

}  // namespace adverb::inline ADVERB_ABI
