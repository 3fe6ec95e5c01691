// SPDX-License-Identifier: MIT
// Events, by which tasks wake each other.
#pragma once

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class event_step;

/// An event that any number of tasks of one loop wait for:
///
///     async::event done{loop};
///     loop.spawn([&]() -> async::task<> { co_await work(); done.set(); });
///     if (!co_await done.wait(100ms)) log("not done yet");
///
/// It stays set until `reset`. Its waits must end before it is destroyed. Not thread safe: other
/// threads set it through `event_loop::post`.
class event {
 public:
  /// Makes an event that is not set.
  explicit event(device_loop& loop) noexcept : loop_{&loop} {}
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() {
    detail::require(waiters_.empty(), "async::event", "the event is destroyed while a task waits");
  }

  /// Sets the event, and has the loop resume what waits for it.
  void set() noexcept {
    is_set_ = true;
    loop_->wake_sleepers(waiters_, false);
  }
  /// Takes the event back. The waits that it has ended stay so.
  void reset() noexcept { is_set_ = false; }
  /// Returns true from `set` until `reset`.
  [[nodiscard]] bool is_set() const noexcept { return is_set_; }

  /// Waits until the event is set, or for a time. The result is true if the event was set, even if
  /// it was reset before the task goes on.
  [[nodiscard]] event_step wait(timeout limit = timeout::endless()) noexcept;
  /// Ends the waits with ECANCELED.
  void cancel_waits() noexcept { loop_->wake_sleepers(waiters_, true); }

 private:
  friend class event_step;

  device_loop* loop_;
  waiter_list waiters_;
  bool is_set_ = false;
};

/// A wait for an event.
class event_step : public detail::async_step<event_step> {
 public:
  /// Makes the step of this event.
  event_step(event& of, timeout limit) noexcept : event_{&of}, limit_{limit} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *event_->loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::sleeper {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const event_step& step) noexcept
        : sleeper{&detail::stop_and_finish<Derived>}, step_{&step} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() noexcept {
      is_woken = step_->event_->is_set_;
      if (is_woken) return false;
      step_->event_->waiters_.push_back(*this);
      if (!step_->limit_.is_endless()) step_->loop().set_timer_after(*this, step_->limit_);
      return true;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] bool take(on_failure policy) const {
      policy.clear();
      if (is_cancelled()) detail::report_cancelled(policy, "async::event::wait");
      return is_woken;
    }

   private:
    const event_step* step_;
  };

 private:
  event* event_;
  timeout limit_;
};

inline event_step event::wait(timeout limit) noexcept { return {*this, limit}; }

}  // namespace adverb::inline ADVERB_ABI::async
