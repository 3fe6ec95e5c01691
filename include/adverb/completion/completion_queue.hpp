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

namespace detail {

/// An array on the stack to poll into, uninitialised.
template <std::size_t Limit>
class stack_batch {
 public:
  stack_batch() noexcept {}
  operator std::span<completion>() noexcept { return completions_; }

 private:
  std::array<completion, Limit> completions_;
};

/// The classic engine fills an array of C structs.
struct classic_engine {
  using native_type = ibv_cq;
  using completion_type = completion;
  static constexpr const char* no_room = "there is no room for completions: the span is empty";

  /// Returns true if the first argument of a call is room for completions.
  template <class Batch>
  static consteval bool takes() noexcept {
    constexpr bool takes = requires(Batch& batch) { room_for(batch); };
    static_assert(
        takes,
        "a classic completion queue polls into memory: pass up_to<16>, or a span of completions");
    return takes;
  }

  [[nodiscard]] static std::span<completion> room_for(std::span<completion> batch) noexcept {
    return batch;
  }
  template <std::size_t Limit>
  [[nodiscard]] static stack_batch<Limit> room_for(up_to_t<Limit>) noexcept {
    return {};
  }
  [[nodiscard]] static std::size_t size_of(std::span<completion> room) noexcept {
    return room.size();
  }

  [[gnu::always_inline]] static std::span<completion> poll(ibv_cq* queue,
                                                           std::span<completion> room,
                                                           on_failure policy) {
    require_present("ibv_poll_cq", queue);
    const int count =
        ibv_poll_cq(queue, static_cast<int>(room.size()), native_completions(room.data()));
    after_poll_of(queue);
    return room.first(
        check_polled(policy, "ibv_poll_cq", count, on_object<completion_queue_traits>(queue)));
  }
  template <class Consume>
  [[gnu::always_inline]] static std::size_t poll(ibv_cq* queue, std::span<completion> room,
                                                 Consume& consume, on_failure policy) {
    const std::span<completion> found = poll(queue, room, policy);
    for (const completion& each : found) consume(each);
    return found.size();
  }
};

/// Operations on a completion queue, owned or referenced: those of either engine, and calls that
/// return the completions in the memory of the caller.
class completion_queue_base : public common_completion_queue_base<classic_engine> {
  /// Returns the poll function for the loops, which leaves the completions in `out`.
  [[nodiscard]] auto poll_into(std::span<completion> out) const noexcept {
    return [this, out](on_failure policy) { return poll(out, policy).size(); };
  }

 public:
  using common_completion_queue_base::busy_poll;
  using common_completion_queue_base::common_completion_queue_base;
  using common_completion_queue_base::poll;
  using common_completion_queue_base::wait;

  /// The available fields of a completion, in the terms of the extended queue.
  static constexpr completion_fields fields = standard_completion_fields;

  /// Polls the available completions into `out`, as many as it has room for, and returns them.
  /// Thread safe, unless the queue was created single threaded. Wraps: ibv_poll_cq(3).
  [[nodiscard, gnu::always_inline]] ADVERB_NO_DANGLING std::span<completion> poll(
      std::span<completion> out, on_failure policy = throwing{}) const {
    return detail::classic_engine::poll(native_handle(), out, policy);
  }

  /// Blocks like `wait` with a function, and returns the completions, at least one. Returns
  /// none in the cases in which that `wait` returns 0.
  [[nodiscard]] ADVERB_NO_DANGLING std::span<completion> wait(
      std::span<completion> out, on_failure policy = throwing{}) const {
    return wait_into(out, detail::deadline{}, policy);
  }
  /// Blocks for at most `limit`, a duration of any type. On timeout it returns none and leaves the
  /// queue armed.
  [[nodiscard]] ADVERB_NO_DANGLING std::span<completion> wait(
      std::span<completion> out, timeout limit, on_failure policy = throwing{}) const {
    return wait_into(out, detail::deadline{limit}, policy);
  }

  /// Polls like `busy_poll` with a function, and returns the completions.
  template <class Timeout>
    requires(!detail::takes_failure<Timeout>)
  [[nodiscard]] ADVERB_NO_DANGLING std::span<completion> busy_poll(
      std::span<completion> out, const Timeout& timeout, on_failure policy = throwing{}) const {
    return out.first(busy_poll_with(poll_into(out), out, timeout, policy));
  }

  /// Returns the next completion:
  ///
  ///     queue.next().check();
  ///
  /// Blocks until there is one: sleeps like `wait` if the queue has a channel, and polls like
  /// `busy_poll` otherwise. Fails with EINTR if a signal handler runs while it sleeps. If it fails
  /// without throwing, the result has the status general_error and id 0. Each call polls for one
  /// completion: to take many at a time, use `poll` or `wait`. Thread safe if the queue has no
  /// channel and was not created single threaded.
  [[nodiscard("the completion may be that of a failure: call .check()")]] completion next(
      on_failure policy = throwing{}) const {
    return next(timeout::endless(), policy);
  }
  /// Blocks for at most `limit`, a duration of any type. Fails with ETIMEDOUT if it expires, and
  /// with ECANCELED if its descriptor becomes readable. After a failure the queue is armed, and no
  /// completion is lost. A queue without a channel does not watch a descriptor: fails with EINVAL.
  [[nodiscard("the completion may be that of a failure: call .check()")]] completion next(
      timeout limit, on_failure policy = throwing{}) const;

 private:
  /// Reports a `next` that ended without a completion.
  [[gnu::cold]] void report_no_completion(timeout limit, bool expired, on_failure policy) const;

  [[nodiscard]] std::span<completion> wait_into(std::span<completion> out,
                                                const detail::deadline& deadline,
                                                on_failure policy) const;
};

}  // namespace detail

/// Refers to a completion queue that another object keeps alive. Pass it by value; it is as cheap
/// as a pointer.
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
                   on_failure policy = throwing{});

  completion_queue(context_ref context, std::size_t capacity, on_failure policy = throwing{})
      : completion_queue{context, capacity, completion_queue_options{}, policy} {}

  /// Rejected at compile time: explains the arguments for creating a queue.
  template <class Argument, class... Rest>
    requires(!detail::takes_failure<Argument> &&
             !std::convertible_to<const Argument&, completion_queue_options>)
  completion_queue(context_ref, std::size_t, const Argument&, const Rest&...) {
    static_assert(detail::takes_failure<Argument>,
                  "a completion queue takes (context, capacity, options, why): pass the channel, "
                  "the vector and the user context as options, {.channel = channel}");
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
  /// Returns the number of reserved entries.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

 private:
  template <class Engine>
  friend class send_window;

  /// Reserves entries for `verb`, whose name a failure carries.
  completion_reservation(completion_queue_ref queue, std::size_t entries, const char* verb,
                         on_failure policy);

  void give_back() noexcept;

  ibv_cq* queue_ = nullptr;
  std::size_t entries_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_queue.ipp>
#endif
