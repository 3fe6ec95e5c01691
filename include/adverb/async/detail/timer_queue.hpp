// SPDX-License-Identifier: MIT
// The timers of a loop, in the order of their times.
#pragma once

#include <cstdint>
#include <utility>

#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class timer_queue;

/// Returns the time that is `length` after `now`, both in nanoseconds of CLOCK_MONOTONIC.
[[nodiscard]] inline std::int64_t later_by(std::int64_t now, timeout length) noexcept {
  constexpr std::int64_t never = timeout::endless().count();
  return length.count() < never - now ? now + length.count() : never;
}

/// A timer, which leaves its queue when it is destroyed.
class timer {
 public:
  /// The function that the loop calls when the time has come. The timer has left its queue.
  using function = void(timer&);

  explicit timer(function* expired) noexcept : expired_{expired} {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() { stop(); }

  /// Returns true while it is in a queue.
  [[nodiscard]] bool is_set() const noexcept { return queue_ != nullptr; }
  /// Returns the time at which it expires, in nanoseconds of CLOCK_MONOTONIC. It must be set.
  [[nodiscard]] std::int64_t time() const noexcept { return time_; }
  /// Leaves its queue, if it is in one.
  inline void stop() noexcept;
  /// Calls its function.
  void expire() { expired_(*this); }

 private:
  friend class timer_queue;

  [[nodiscard]] bool comes_before(const timer& other) const noexcept {
    return time_ != other.time_ ? time_ < other.time_ : number_ < other.number_;
  }

  function* expired_;
  timer_queue* queue_ = nullptr;
  std::int64_t time_ = 0;
  /// Timers of one time expire in the order in which they were set.
  std::uint64_t number_ = 0;
  timer* first_child_ = nullptr;
  timer* next_sibling_ = nullptr;
  /// The sibling before it, or its parent if it is the first child.
  timer* before_ = nullptr;
};

/// A timer whose function finds its owner.
template <class Owner>
struct owned_timer : timer {
  owned_timer(Owner& of, function* expired) noexcept : timer{expired}, owner_{&of} {}
  [[nodiscard]] static Owner& owner_of(timer& which) noexcept {
    return *static_cast<owned_timer&>(which).owner_;
  }

 private:
  Owner* owner_;
};

/// Timers in the order of their times: a pairing heap, so that nothing is allocated. Owns none of
/// them. Not thread safe.
class timer_queue {
 public:
  timer_queue() noexcept = default;
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;
  ~timer_queue() {
    while (first_ != nullptr) remove(*first_);
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// Returns the time of the first timer. There must be one.
  [[nodiscard]] std::int64_t next_time() const noexcept { return first_->time_; }

  /// Sets a timer, which may be set already.
  void set(timer& which, std::int64_t time) noexcept {
    which.stop();
    which.queue_ = this;
    which.time_ = time;
    which.number_ = ++last_number_;
    first_ = merge(first_, &which);
  }
  /// Removes a timer of the queue.
  void remove(timer& which) noexcept {
    timer* const children = merge_siblings(std::exchange(which.first_child_, nullptr));
    if (&which == first_) {
      first_ = children;
    } else {
      unlink(which);
      first_ = merge(first_, children);
    }
    which.queue_ = nullptr;
  }
  /// Takes the first timer whose time has come; null if there is none.
  [[nodiscard]] timer* take_expired(std::int64_t now) noexcept {
    timer* const found = first_;
    if (found == nullptr || found->time_ > now) return nullptr;
    remove(*found);
    return found;
  }

 private:
  /// Merges two heaps, either of which may be empty.
  static timer* merge(timer* left, timer* right) noexcept {
    if (left == nullptr) return right;
    if (right == nullptr) return left;
    if (right->comes_before(*left)) std::swap(left, right);
    right->before_ = left;
    right->next_sibling_ = left->first_child_;
    if (left->first_child_ != nullptr) left->first_child_->before_ = right;
    left->first_child_ = right;
    return left;
  }
  /// Takes a timer that is not the first from its siblings.
  static void unlink(timer& which) noexcept {
    timer& before = *which.before_;
    (before.first_child_ == &which ? before.first_child_ : before.next_sibling_) =
        which.next_sibling_;
    if (which.next_sibling_ != nullptr) which.next_sibling_->before_ = &before;
    which.before_ = which.next_sibling_ = nullptr;
  }
  /// Merges siblings in pairs, and the pairs from the last to the first.
  static timer* merge_siblings(timer* first) noexcept {
    timer* pairs = nullptr;
    while (first != nullptr) {
      timer* const left = first;
      timer* const right = left->next_sibling_;
      first = right != nullptr ? right->next_sibling_ : nullptr;
      left->before_ = left->next_sibling_ = nullptr;
      if (right != nullptr) right->before_ = right->next_sibling_ = nullptr;
      timer* const pair = merge(left, right);
      pair->next_sibling_ = pairs;
      pairs = pair;
    }
    timer* merged = nullptr;
    while (pairs != nullptr) {
      timer* const next = std::exchange(pairs->next_sibling_, nullptr);
      merged = merge(merged, pairs);
      pairs = next;
    }
    return merged;
  }

  timer* first_ = nullptr;
  std::uint64_t last_number_ = 0;
};

inline void timer::stop() noexcept {
  if (queue_ != nullptr) queue_->remove(*this);
}

}  // namespace adverb::inline ADVERB_ABI::detail
