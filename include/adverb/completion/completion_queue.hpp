// SPDX-License-Identifier: MIT
// Completion queues, polled and waited on.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_channel.hpp>
#include <adverb/core/thread_sanitizer.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct completion_queue_traits {
  using native_type = ibv_cq;
  static constexpr std::string_view destroy_verb = "ibv_destroy_cq";
  static int destroy(ibv_cq* queue) noexcept { return ibv_destroy_cq(queue); }
  template <class Function>
  static void for_each_parent(const ibv_cq* queue, const Function& function) noexcept {
    function(queue->context);
    function(queue->channel);
  }
  static void describe(const ibv_cq* queue, text_writer& writer) noexcept {
    put_device(writer, queue->context).put(" cq ").decimal(queue->handle);
  }
};

}  // namespace detail

/// What a completion queue can do, whether it is owned or referred to.
template <class Storage>
class completion_queue_operations : public Storage {
 public:
  using Storage::Storage;

  [[nodiscard]] context_ref context() const noexcept { return this->native_handle()->context; }
  /// How many completions it holds: at least what was asked for.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(this->native_handle()->cqe);
  }
  /// The channel that it announces completions on; empty when it has none.
  [[nodiscard]] completion_channel_ref channel() const noexcept {
    return this->native_handle()->channel;
  }
  /// The pointer that it was made with.
  [[nodiscard]] void* user_context() const noexcept { return this->native_handle()->cq_context; }

  /// Takes completions off the queue, as many as are there and `out` has room for, and returns
  /// them. Thread safe. Wraps: ibv_poll_cq(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] std::span<completion> poll(std::span<completion> out, Policy&& policy = {}) const {
    ibv_cq* const queue = this->native_handle();
    const int count =
        ibv_poll_cq(queue, static_cast<int>(out.size()), detail::native_completions(out.data()));
    detail::after_poll_of(queue);
    return out.first(
        detail::check_polled(std::forward<Policy>(policy), "ibv_poll_cq", count, on_queue()));
  }

  /// Asks for one event on the channel when the next completion arrives, or (`solicited_only`) the
  /// next of a solicited message or error. A completion that is already there gives none: prefer
  /// `wait` and `arm_and_drain`, which get this right. Wraps: ibv_req_notify_cq(3).
  template <error_policy Policy = throwing>
  void request_notification(bool solicited_only = false, Policy&& policy = {}) const {
    if (!detail::check_present(std::forward<Policy>(policy), "ibv_req_notify_cq",
                               this->native_handle()))
      return;
    const int result = ibv_req_notify_cq(this->native_handle(), solicited_only ? 1 : 0);
    detail::check_returned(std::forward<Policy>(policy), "ibv_req_notify_cq", result, on_queue());
  }

  /// Takes everything off the queue, asks for the next event, and takes off what came in between,
  /// so that no completion is left behind without an event. `consume` is called with spans of
  /// completions inside `batch`. For event loops: call it once before the first wait, and then for
  /// each queue that the channel names. An exception from `consume` loses the completions of its
  /// span that it did not look at, and leaves the queue unarmed.
  template <class Consume, error_policy Policy = throwing>
  void arm_and_drain(std::span<completion> batch, Consume&& consume, Policy&& policy = {}) const {
    if (!has_room(std::forward<Policy>(policy), "completion_queue::arm_and_drain", batch) ||
        !drain(batch, consume, std::forward<Policy>(policy)))
      return;
    request_notification(false, std::forward<Policy>(policy));
    if (detail::failed(policy)) return;
    drain(batch, consume, std::forward<Policy>(policy));
  }

  /// Waits for completions without spinning and returns them, at least one. The queue needs a
  /// channel of its own: an event of another queue is reported (EINVAL), for such channels there is
  /// `arm_and_drain`. Returns none when a signal handler ran meanwhile, and, when the channel is
  /// non-blocking, when there are none: the next one then gives an event on the channel. By one
  /// thread at a time.
  template <error_policy Policy = throwing>
  [[nodiscard]] std::span<completion> wait(std::span<completion> out, Policy&& policy = {}) const {
    constexpr std::string_view verb = "completion_queue::wait";
    if (!has_room(std::forward<Policy>(policy), verb, out) ||
        !holds(std::forward<Policy>(policy), verb, static_cast<bool>(channel()),
               "the queue was made without a channel"))
      return {};
    while (true) {
      std::span<completion> found = poll(out, std::forward<Policy>(policy));
      if (!found.empty() || detail::failed(policy)) return found;
      request_notification(false, std::forward<Policy>(policy));
      if (detail::failed(policy)) return {};
      found = poll(out, std::forward<Policy>(policy));
      if (detail::failed(policy)) return {};
      // What came in between may have left an event, which must not pile up with later ones.
      while (!found.empty() && channel().has_event())
        if (!take_event(std::forward<Policy>(policy), verb)) return found;
      if (!found.empty()) return found;
      if (!take_event(std::forward<Policy>(policy), verb)) return {};
    }
  }

 private:
  /// Takes an event off the channel, which has to be one of this queue. False when there is none.
  template <error_policy Policy>
  bool take_event(Policy&& policy, std::string_view verb) const {
    const auto event = channel().next_event(std::forward<Policy>(policy));
    return event && holds(std::forward<Policy>(policy), verb,
                          event->native_handle() == this->native_handle(),
                          "an event of another queue came: a channel that several queues share "
                          "needs next_event and arm_and_drain");
  }

  /// Reports (EINVAL) a condition that does not hold.
  template <error_policy Policy>
  bool holds(Policy&& policy, std::string_view verb, bool condition,
             std::string_view otherwise) const {
    return detail::check_returned(std::forward<Policy>(policy), verb, condition ? 0 : EINVAL,
                                  [&](failure_description& description) {
                                    on_queue()(description);
                                    description.explain(otherwise);
                                  });
  }
  template <error_policy Policy>
  bool has_room(Policy&& policy, std::string_view verb, std::span<completion> out) const {
    return detail::check_present(std::forward<Policy>(policy), verb, this->native_handle()) &&
           holds(std::forward<Policy>(policy), verb, !out.empty(),
                 "there is no room for completions: the span is empty");
  }

  /// True when the queue was emptied.
  template <class Consume, error_policy Policy>
  bool drain(std::span<completion> batch, Consume& consume, Policy&& policy) const {
    while (true) {
      const std::span<completion> found = poll(batch, std::forward<Policy>(policy));
      if (found.empty()) return !detail::failed(policy);
      consume(found);
    }
  }

  [[nodiscard]] auto on_queue() const noexcept {
    return detail::on_object<detail::completion_queue_traits>(this->native_handle());
  }
};

/// What a completion queue may be made with.
struct completion_queue_options {
  /// Where it announces completions; none when it is only polled.
  completion_channel_ref channel{};
  /// The completion vector (interrupt) that it uses, below `context.completion_vectors()`.
  std::uint32_t vector = 0;
  /// Handed back by `user_context()`.
  void* user_context = nullptr;
};

/// A completion queue. Polling is thread safe.
class [[nodiscard]] completion_queue
    : public completion_queue_operations<unique_handle<detail::completion_queue_traits>> {
 public:
  using completion_queue_operations::completion_queue_operations;

  /// Makes a queue for at least `capacity` completions. It has to hold those of all requests that
  /// are in progress at once: one that overflows is lost with all its queue pairs.
  /// Wraps: ibv_create_cq(3).
  template <error_policy Policy = throwing>
  completion_queue(context_ref context, std::size_t capacity, completion_queue_options options,
                   Policy&& policy = {})
      : completion_queue_operations{detail::make_handle<completion_queue>(
            std::forward<Policy>(policy), "ibv_create_cq",
            [&] {
              // What does not fit into an int is beyond every device, and refused as such.
              const int entries = capacity > std::numeric_limits<int>::max()
                                      ? std::numeric_limits<int>::max()
                                      : static_cast<int>(capacity);
              return ibv_create_cq(context.native_handle(), entries, options.user_context,
                                   options.channel.native_handle(),
                                   static_cast<int>(options.vector));
            },
            [&](failure_description& description) {
              detail::on_device(context.native_handle())(description);
              explain(description, context, capacity, options);
            },
            context)} {}

  template <error_policy Policy = throwing>
  completion_queue(context_ref context, std::size_t capacity, Policy&& policy = {})
      : completion_queue{context, capacity, completion_queue_options{},
                         std::forward<Policy>(policy)} {}

 private:
  static void explain(failure_description& description, context_ref context, std::size_t capacity,
                      const completion_queue_options& options) {
    description.explain([&](text_writer& writer) {
      std::error_code unknown;
      const std::size_t limit = context.query_device(unknown).max_completion_queue_entries();
      if (capacity == 0) {
        writer.put("a completion queue needs room for at least one completion");
      } else if (!unknown && capacity > limit) {
        writer.decimal(capacity).put(" entries were asked for, the device allows ").decimal(limit);
      } else if (options.vector >= context.completion_vectors()) {
        writer.put("completion vector ").decimal(options.vector).put(" of ");
        writer.decimal(context.completion_vectors()).put(" (they count from 0)");
      }
    });
  }
};

template <class Storage>
template <error_policy Policy>
std::optional<completion_queue_ref> completion_channel_operations<Storage>::next_event(
    Policy&& policy) const {
  ibv_comp_channel* const channel = this->native_handle();
  if (!detail::check_present(std::forward<Policy>(policy), "ibv_get_cq_event", channel))
    return std::nullopt;
  ibv_cq* queue = nullptr;
  void* user_context = nullptr;
  const bool found = detail::check_waited(
      std::forward<Policy>(policy), "ibv_get_cq_event",
      [&] { return ibv_get_cq_event(channel, &queue, &user_context); },
      detail::on_device(channel->context));
  if (!found) return std::nullopt;
  ibv_ack_cq_events(queue, 1);
  return completion_queue_ref{queue};
}

}  // namespace adverb::inline ADVERB_ABI
