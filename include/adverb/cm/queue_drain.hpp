// SPDX-License-Identifier: MIT
// Draining the queues of a connection that has ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <poll.h>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/fwd.hpp>
#include <adverb/queue/detail/post.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Takes the remaining completions of a queue pair in ERR, without blocking. Returned by
/// `connection::start_drain`. The connection must outlive it.
///
///     auto draining = connection.start_drain();
///     while (!draining.finish(consume)) …     // sleep until a completion channel is readable
// A request that is posted in ERR is flushed behind all earlier ones, so a marker request is posted
// to each queue. Soft-RoCE flushes a receive only when the state is set again, so ERR is set again
// behind the markers; on other devices this has no effect. iWARP devices flush both queues before
// the connection is gone and need not flush later requests, so they get no markers: both queues are
// empty when their completion queues are. A shared receive queue gets no marker.
class [[nodiscard]] queue_drain {
 public:
  /// Creates an empty object.
  queue_drain() noexcept = default;

  /// Calls `consume` with each available completion, and returns true when both queues are empty.
  /// If it returns false, it has armed the completion queues: call it again when one of their
  /// completion channels is readable. For queues without a channel, call it again after a while.
  /// Wraps: ibv_poll_cq(3), ibv_req_notify_cq(3).
  template <class Consume>
  [[nodiscard]] bool finish(Consume&& consume, on_failure policy = throwing{}) {
    if constexpr (detail::takes_each<Consume, completion>()) {
      if (!detail::check_present(policy, "connection::drain", pair_)) return false;
      if (take_what_is_there(consume, policy)) return true;
      // Completions that arrived before the queues were armed raise no event.
      return !policy.failed() && mark_ends(policy) && arm(policy) &&
             take_what_is_there(consume, policy);
    }
    return false;
  }

  /// Returns the number of completions passed to `consume`.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  template <transport, pair_owner>
  friend class connection;

  /// Moves the queue pair to ERR.
  queue_drain(ibv_qp* pair, on_failure policy) : pair_{pair} {
    if (enter_error(policy)) look_up_sizes(policy);
  }

  /// Repeats `finish` until it returns true or the time limit expires.
  template <class Consume>
  void wait(Consume& consume, timeout limit, on_failure policy) {
    const detail::deadline until{limit};
    while (!finish(consume, policy)) {
      if (policy.failed()) return;
      if (until.passed()) return report_late(limit, policy);
      // Polls every millisecond, because the device or the kernel does the work.
      pollfd wake{limit.wake_descriptor(), POLLIN, 0};
      if (::poll(&wake, 1, 1) > 0) return report_woken(policy);
    }
  }

  /// The last request of a queue.
  class marker {
   public:
    explicit marker(const char& place) noexcept : id_{reinterpret_cast<std::uintptr_t>(&place)} {}
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    void await() noexcept { stage_ = stage::to_be_posted; }
    /// Ignores a marker that an earlier drain left behind.
    void found() noexcept {
      if (stage_ == stage::posted) stage_ = stage::none;
    }
    [[nodiscard]] bool is_awaited() const noexcept { return stage_ != stage::none; }

    /// Posts the marker if it is due. Returns false if that fails. A full queue is not an error; it
    /// has room later.
    template <class Queue>
    [[nodiscard]] bool post_to(ibv_qp* pair, typename Queue::native_request request,
                               on_failure policy) {
      if (stage_ != stage::to_be_posted) return true;
      request.wr_id = id_;
      const post_result posted = detail::post_chain<Queue, true>(pair, &request, 1);
      if (posted) stage_ = stage::posted;
      if (posted || posted.code() == std::errc::not_enough_memory) return true;
      posted.check(policy);
      return false;
    }
    [[nodiscard]] bool is_to_be_posted() const noexcept { return stage_ == stage::to_be_posted; }

   private:
    enum class stage : std::uint8_t { none, to_be_posted, posted };
    std::uint64_t id_;
    stage stage_ = stage::none;
  };

  [[nodiscard]] bool is_awaited() const noexcept {
    return send_.is_awaited() || receive_.is_awaited();
  }

  bool enter_error(on_failure policy) const;

  /// A queue without capacity gets no marker.
  void look_up_sizes(on_failure policy);

  bool mark_ends(on_failure policy);

  /// Arms the queues that have a channel.
  bool arm(on_failure policy) const;

  /// Returns true when both markers have completed and the queues behind them are empty.
  template <class Consume>
  bool take_what_is_there(Consume& consume, on_failure policy) {
    const bool awaited = is_awaited();
    const bool emptied = take_all(consume, policy);
    if (policy.failed() || is_awaited()) return false;
    if (awaited && !emptied) take_all(consume, policy);
    return !policy.failed();
  }

  /// Takes the completions that are available now, because other users of a shared queue may fill
  /// it forever. Returns true if the queues became empty.
  template <class Consume>
  bool take_all(Consume& consume, on_failure policy) {
    auto left = static_cast<std::size_t>(pair_->recv_cq->cqe) +
                static_cast<std::size_t>(pair_->send_cq->cqe);
    while (true) {
      const std::size_t found = take(consume, policy);
      if (found == 0) return true;
      if (found >= left || policy.failed()) return false;
      left -= found;
    }
  }

  /// Takes a few completions. Returns their number, including the markers.
  template <class Consume>
  std::size_t take(Consume& consume, on_failure policy) {
    std::size_t found = take_from(pair_->recv_cq, consume, policy);
    if (pair_->send_cq != pair_->recv_cq && !policy.failed())
      found += take_from(pair_->send_cq, consume, policy);
    return found;
  }
  template <class Consume>
  std::size_t take_from(completion_queue_ref queue, Consume& consume, on_failure policy) {
    std::array<completion, 16> batch;
    const auto found = queue.poll(batch, policy);
    for (const completion& each : found) {
      // On a shared completion queue, the marker may belong to an unfinished drain of another queue
      // pair.
      const bool ours = each.queue_pair() == static_cast<qp_number>(pair_->qp_num);
      if (each.id() == send_.id()) {
        if (ours) send_.found();
      } else if (each.id() == receive_.id()) {
        if (ours) receive_.found();
      } else {
        ++count_;
        consume(each);
      }
    }
    return found.size();
  }

  [[gnu::cold]] void report_late(timeout limit, on_failure policy) const;

  [[gnu::cold]] void report_woken(on_failure policy) const;

  /// The addresses of these objects are the ids of the markers. No object of the program is there,
  /// so no request of the program has these ids; an address on the stack could be reused.
  static constexpr char end_of_sends = 's';
  static constexpr char end_of_receives = 'r';

  ibv_qp* pair_ = nullptr;
  marker send_{end_of_sends};
  marker receive_{end_of_receives};
  std::size_t count_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/queue_drain.ipp>
#endif
