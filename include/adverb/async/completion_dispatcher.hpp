// SPDX-License-Identifier: MIT
// The dispatcher: passes the completions of one queue to their operations.
#pragma once

#include <array>
#include <cstddef>

#include <infiniband/verbs.h>

#include <adverb/async/operation.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Passes each completion of a queue to its operation. The id of every request that completes on
/// the queue must be the address of an `operation`.
///
/// The polled completions are members, not on the stack. So an operation that throws loses no other
/// completion, and an operation may poll again. The next `poll` continues where the last one left
/// off.
///
/// Not thread safe. The queue must outlive it.
class completion_dispatcher {
 public:
  /// Makes a dispatcher. To sleep, the queue needs a non-blocking completion channel of its own.
  explicit completion_dispatcher(completion_queue_ref queue) noexcept : queue_{queue} {}
  completion_dispatcher(const completion_dispatcher&) = delete;
  completion_dispatcher& operator=(const completion_dispatcher&) = delete;
  /// Acknowledges the events. The queue can only be destroyed afterwards.
  ~completion_dispatcher() { acknowledge(); }

  /// Returns its queue.
  [[nodiscard]] completion_queue_ref queue() const noexcept { return queue_; }

  /// Passes on the completions that are available now. Returns their number: less than
  /// `batch_size` if the queue was empty after them. Wraps: ibv_poll_cq(3).
  [[gnu::always_inline]] std::size_t poll(on_failure policy = throwing{}) {
    if (at_ != end_) [[unlikely]] {
      pass_on();
      return batch_size;  // They were left over; the queue may hold more.
    }
    const auto found = queue_.poll(batch_, policy);
    at_ = found.data();
    end_ = at_ + found.size();
    pass_on();
    return found.size();
  }

  /// Passes on the available completions, requests an event for the next one, and passes on those
  /// that came in between. Afterwards the program can sleep until the channel is readable. Returns
  /// false if the queue may hold more, because this call passes on at most `most` completions, so
  /// that other work gets its turn: call it again. Wraps: ibv_poll_cq(3), ibv_req_notify_cq(3).
  // A poll that did not fill its batch has emptied the queue, so another one before the request for
  // an event would find nothing.
  bool poll_and_arm(std::size_t most = 256, on_failure policy = throwing{}) {
    std::size_t total = 0;
    for (std::size_t count = batch_size; count == batch_size; total += count) {
      if (total >= most) return false;
      count = poll(policy);
      if (policy.failed()) return true;
    }
    queue_.request_notification(false, policy);
    if (policy.failed()) return true;
    // The event comes only for what arrives after the request.
    for (std::size_t count = batch_size; count == batch_size; total += count) {
      if (total >= most) return false;
      count = poll(policy);
      if (policy.failed()) return true;
    }
    return true;
  }

  /// Takes the event that made the channel readable, and does `poll_and_arm`. Acknowledges the
  /// events in batches, because each acknowledgement takes a lock.
  /// Wraps: ibv_get_cq_event(3), ibv_ack_cq_events(3).
  bool ready(std::size_t most = 256, on_failure policy = throwing{}) {
    take_event();
    return poll_and_arm(most, policy);
  }

  /// Takes the event that made the channel readable, and polls nothing. Returns false, and sets
  /// errno, if there is none. Wraps: ibv_get_cq_event(3), ibv_ack_cq_events(3).
  bool take_event() noexcept {
    ibv_cq* queue = nullptr;
    void* user_context = nullptr;
    // An event that another wake-up took already is no error.
    if (ibv_get_cq_event(queue_.channel().native_handle(), &queue, &user_context) != 0)
      return false;
    if (++events_ == events_at_once) acknowledge();
    return true;
  }

  /// Returns true while completions of the last poll are not passed on yet.
  [[nodiscard]] bool has_more() const noexcept { return at_ != end_; }

  /// The number of completions that one poll takes.
  static constexpr std::size_t batch_size = 16;

 private:
  /// Passes on the completions of the batch.
  void pass_on() {
    while (at_ != end_) {
      const completion& each = *at_++;
      operation::of(each).complete(each);
    }
  }

  void acknowledge() noexcept {
    if (events_ != 0) ibv_ack_cq_events(queue_.native_handle(), events_);
    events_ = 0;
  }

  static constexpr unsigned events_at_once = 64;

  completion_queue_ref queue_;
  const completion* at_ = nullptr;
  const completion* end_ = nullptr;
  unsigned events_ = 0;
  std::array<completion, batch_size> batch_;
};

}  // namespace adverb::inline ADVERB_ABI::async
