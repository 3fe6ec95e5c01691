// SPDX-License-Identifier: MIT
// Waiters: what waits for software, such as a message or an event of the connection manager.
#pragma once

#include <utility>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class waiter_list;

/// A link of a list of waiters. Unlike an operation of the device, a waiter can leave its list at
/// any time: it does so when it is destroyed. Not thread safe.
class waiter {
 public:
  /// The function that the list calls when the waiter may go on. Returns false if it still has to
  /// wait. If it returns true, it has left the list, and may be destroyed.
  using function = bool(waiter&);

  /// Makes a waiter that calls `resume`.
  explicit waiter(function* resume) noexcept : resume_{resume} {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() { leave(); }

  /// Calls its function.
  bool go_on() { return resume_(*this); }

  /// Returns true if that is its function.
  [[nodiscard]] bool calls(function* which) const noexcept { return resume_ == which; }

  /// Returns true while it is in a list.
  [[nodiscard]] bool is_waiting() const noexcept { return previous_ != nullptr; }

  /// Leaves its list, if it is in one.
  void leave() noexcept {
    if (previous_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  friend class waiter_list;

  waiter* previous_ = nullptr;
  waiter* next_ = nullptr;
  function* resume_;
};

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// The function of an operation that has finished when its list resumes it.
template <class Derived>
bool leave_and_finish(async::waiter& which) {
  which.leave();
  static_cast<Derived&>(which).finished();
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// A waiter that learns when what it waits for will not come. Not thread safe.
class cancellable_waiter : public waiter {
 public:
  using waiter::waiter;

  /// Marks it. `device_loop::cancel` does.
  void cancel() noexcept { is_cancelled_ = true; }
  /// Returns true if it was cancelled.
  [[nodiscard]] bool is_cancelled() const noexcept { return is_cancelled_; }

 private:
  bool is_cancelled_ = false;
};

/// Waiters in the order in which they came. Owns none of them. Not thread safe.
class waiter_list {
 public:
  waiter_list() noexcept { ends_.previous_ = ends_.next_ = &ends_; }
  waiter_list(const waiter_list&) = delete;
  waiter_list& operator=(const waiter_list&) = delete;
  ~waiter_list() {
    while (!empty()) ends_.next_->leave();
    ends_.previous_ = nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return ends_.next_ == &ends_; }

  /// Adds a waiter at the end. It must be in no list.
  void push_back(waiter& last) noexcept { insert(last, ends_); }
  /// Adds a waiter at the front. It must be in no list.
  void push_front(waiter& first) noexcept { insert(first, *ends_.next_); }

  /// Adds a waiter behind the last one that `may_precede` returns true for. It must be in no list.
  template <class Predicate>
  void push_behind(waiter& added, const Predicate& may_precede) noexcept {
    waiter* last = ends_.previous_;
    while (last != &ends_ && !may_precede(*last)) last = last->previous_;
    insert(added, *last->next_);
  }

  /// Moves the first waiter of another list, which must not be empty, to the end of this one.
  void take_first_of(waiter_list& other) noexcept {
    waiter& first = other.front();
    first.leave();
    push_back(first);
  }

  /// Returns the first waiter. There must be one.
  [[nodiscard]] waiter& front() noexcept { return *ends_.next_; }

  /// Resumes the first waiter. Returns false if there is none, or if it still has to wait.
  bool resume_first() { return !empty() && front().go_on(); }
  /// Resumes those that can go on, in order, up to the first that still has to wait.
  void resume() {
    while (resume_first()) {
    }
  }
  /// The same, but leaves those that come meanwhile.
  void resume_present() {
    waiter last{[](waiter&) { return false; }};
    push_back(last);
    resume();
  }

 private:
  static void insert(waiter& added, waiter& before) noexcept {
    added.previous_ = before.previous_;
    added.next_ = &before;
    before.previous_->next_ = &added;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic push
    // The destructor of a waiter takes it out of the list.
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
    before.previous_ = &added;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic pop
#endif
  }

  waiter ends_{nullptr};
};

}  // namespace adverb::inline ADVERB_ABI::async
