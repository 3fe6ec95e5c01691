// SPDX-License-Identifier: MIT
// Waiting for a time.
#pragma once

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// A wait for a time.
class sleep_step : public detail::async_step<sleep_step> {
 public:
  /// Makes the step of this length.
  sleep_step(device_loop& loop, timeout length) noexcept : loop_{&loop}, length_{length} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::sleeper {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const sleep_step& step) noexcept
        : sleeper{&detail::stop_and_finish<Derived>}, step_{&step} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() noexcept {
      step_->loop_->add_sleeper(*this, step_->length_);
      return true;
    }
    /// Returns, or reports the failure.
    void take(on_failure policy) const {
      policy.clear();
      if (is_cancelled()) detail::report_cancelled(policy, "async::sleep_for");
    }

   private:
    const sleep_step* step_;
  };

 private:
  device_loop* loop_;
  timeout length_;
};

/// Waits for a time, for about a millisecond longer at most:
///
///     co_await async::sleep_for(loop, 5ms);
///
/// `device_loop::cancel_sleeps` ends the waits of a loop with ECANCELED. A length of zero lets
/// everything else go on once. The descriptor of the length is ignored. Not thread safe: used by
/// the thread of the loop.
[[nodiscard]] inline sleep_step sleep_for(device_loop& loop, timeout length) noexcept {
  return {loop, length};
}

}  // namespace adverb::inline ADVERB_ABI::async
