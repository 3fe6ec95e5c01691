// SPDX-License-Identifier: MIT
// Waiting until a descriptor of the program is readable.
#pragma once

#include <adverb/async/event_loop.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// A wait until a descriptor is readable.
class readable_step : public detail::async_step<readable_step> {
 public:
  /// Makes the step of this descriptor.
  readable_step(event_loop& loop, int descriptor, timeout limit) noexcept
      : loop_{&loop}, descriptor_{descriptor}, limit_{limit} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::sleeper, private event_source {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const readable_step& step) noexcept
        : sleeper{&resume}, event_source{step.descriptor_}, step_{&step} {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    ~operation() { stop_watching(); }

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() {
      step_->loop_->start_watching(*this, why_);
      is_watched_ = !why_;
      if (is_watched_) step_->loop_->add_sleeper(*this, step_->limit_);
      return is_watched_;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] bool take(on_failure policy) const {
      policy.clear();
      if (why_) policy.report(why_);
      if (is_cancelled()) detail::report_cancelled(policy, "async::readable");
      return is_woken;
    }

   private:
    bool ready() override {
      is_woken = true;
      go_on();
      return true;
    }
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      self.stop_watching();
      return detail::stop_and_finish<Derived>(which);
    }
    void stop_watching() noexcept {
      if (is_watched_) step_->loop_->stop_watching(*this);
      is_watched_ = false;
    }

    const readable_step* step_;
    failure why_;
    bool is_watched_ = false;
  };

 private:
  event_loop* loop_;
  int descriptor_;
  timeout limit_;
};

/// Waits until a descriptor is readable, or at its end, or for a time. The result is true if it is:
///
///     while (co_await async::readable(loop, STDIN_FILENO)) take(STDIN_FILENO);
///
/// One task at a time waits for a descriptor, which stays open meanwhile: the step of another fails
/// with EEXIST. A regular file, which is always readable, fails with EPERM.
/// `device_loop::cancel_sleeps` ends the wait with ECANCELED. On Asio, use a descriptor of Asio.
/// Not thread safe: used by the thread of the loop. Wraps: epoll_ctl(2).
[[nodiscard]] inline readable_step readable(event_loop& loop, int descriptor,
                                            timeout limit = timeout::endless()) noexcept {
  return {loop, descriptor, limit};
}

}  // namespace adverb::inline ADVERB_ABI::async
