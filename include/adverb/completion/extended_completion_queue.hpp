// SPDX-License-Identifier: MIT
// Extended completion queues: more fields per completion, each read only on access.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/polled_completions.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The extended engine shows one completion after the other.
template <completion_fields Fields>
struct extended_engine {
  using native_type = ibv_cq_ex;
  using completion_type = extended_completion<Fields>;
  static constexpr const char* no_room = "no completion can be polled: the limit is 0";

  /// Returns true if the first argument of a call is a number.
  template <class Batch>
  static consteval bool takes() noexcept {
    constexpr bool takes = std::convertible_to<Batch, std::size_t>;
    static_assert(takes,
                  "an extended completion queue polls one by one: pass up_to<16>, or a maximum "
                  "number of completions");
    return takes;
  }

  template <class Batch>
  [[nodiscard]] static std::size_t room_for(const Batch& limit) noexcept {
    return static_cast<std::size_t>(limit);
  }
  [[nodiscard]] static std::size_t size_of(std::size_t room) noexcept { return room; }

  template <class Consume>
  static std::size_t poll(ibv_cq_ex* queue, std::size_t limit, Consume& consume,
                          on_failure policy) {
    polled_completions<Fields, completion_limit, on_failure> round{queue, completion_limit{limit},
                                                                   policy};
    std::size_t count = 0;
    for (const completion_type each : round) {
      ++count;
      consume(each);
    }
    return count;
  }
};

/// Operations on an extended completion queue with `Fields`, owned or referenced: those of either
/// engine, and ranges of completions.
template <completion_fields Fields>
class extended_completion_queue_base
    : public common_completion_queue_base<extended_engine<Fields>> {
  using base = common_completion_queue_base<extended_engine<Fields>>;

 public:
  using base::base;
  using base::poll;

  /// The available fields of a completion.
  static constexpr completion_fields fields = Fields;

  /// Converts to a reference to any completion queue: for queue pairs, and for comparison with the
  /// queue that a channel returns. Poll it only through this type. Wraps: ibv_cq_ex_to_cq(3).
  operator completion_queue_ref() const noexcept { return ibv_cq_ex_to_cq(this->native_handle()); }

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
  /// Rejected at compile time: explains how to poll this queue.
  void poll(std::span<completion>) const {
    static_assert(Fields != fields,
                  "an extended completion queue is polled one by one: "
                  "for (const auto& completion : queue.poll())");
  }
  /// Rejected at compile time: a completion of this queue is valid only while it is polled.
  template <class... Arguments>
  completion next(const Arguments&...) const {
    static_assert(Fields != fields,
                  "an extended completion is valid only while it is polled: "
                  "queue.wait(up_to<1>, [](const auto& completion) { completion.check(); })");
    return completion{ibv_wc{}};
  }

 private:
  template <class Limit, class Policy>
  [[nodiscard]] polled_completions<Fields, Limit, Policy> round(Limit limit, Policy policy) const {
    return {this->native_handle(), limit, policy};
  }
};

struct extended_completion_queue_traits {
  using native_type = ibv_cq_ex;
  using plain = completion_queue_traits;
  static constexpr const char* destroy_verb = plain::destroy_verb;
  static int destroy(ibv_cq_ex* queue) noexcept { return plain::destroy(plain_queue(queue)); }
  static void list_parents(const ibv_cq_ex* queue, parent_visitor& parents) noexcept {
    plain::list_parents(plain_queue(queue), parents);
  }
  static void describe(const ibv_cq_ex* queue, text_writer& writer) noexcept {
    plain::describe(plain_queue(queue), writer);
  }
};

}  // namespace detail

template <completion_fields Fields = standard_completion_fields>
class extended_completion_queue;

/// Refers to an extended completion queue that another object keeps alive and that has at least
/// `Fields`. Pass it by value; it is as cheap as a pointer.
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
                  "the queue was created without some fields that this reference reads");
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
