// SPDX-License-Identifier: MIT
// Waiting for blocks of a pool. Not in <adverb/async.hpp>, which takes less time to compile without
// <memory_resource>.
#pragma once

#include <utility>

#include <adverb/async/event_loop.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/detail/event_descriptor.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/pool/buffer_pool.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class block_step;

/// The waits of the tasks of one loop for blocks of a pool, in the order in which they came:
///
///     async::block_waits blocks{loop, pool};
///     buffer_lease block = co_await blocks.take();
///
/// Any thread may give blocks back meanwhile. A pool has one such object at a time. Its waits must
/// end before it is destroyed, and no other thread may give back a block during its destruction.
/// Otherwise not thread safe: used by the thread of its loop.
class block_waits final : private event_source, private detail::block_listener {
 public:
  /// Watches for blocks that are given back. Wraps: eventfd(2), epoll_ctl(2).
  block_waits(event_loop& loop, buffer_pool& pool, on_failure policy = throwing{})
      : block_waits{loop, pool, detail::event_descriptor{policy}, policy} {}
  block_waits(const block_waits&) = delete;
  block_waits& operator=(const block_waits&) = delete;
  ~block_waits() {
    detail::require(waiters_.empty(), "async::block_waits",
                    "the object is destroyed while a task waits");
    pool_->set_listener(nullptr);
    if (wake_.get() != -1) loop_->stop_watching(*this);
    if (turn_ != nullptr) turn_->waits = nullptr;
  }

  /// Takes a block, or waits until one is given back, or for a time. The lease is empty if none was
  /// in time.
  [[nodiscard]] block_step take(timeout limit = timeout::endless()) noexcept;
  /// Ends the waits with ECANCELED.
  void cancel_waits() noexcept {
    pool_->set_listener(nullptr);
    loop_->wake_sleepers(waiters_, true);
  }

 private:
  friend class block_step;

  block_waits(event_loop& loop, buffer_pool& pool, detail::event_descriptor wake, on_failure policy)
      : event_source{wake.get()},
        block_listener{
            [](block_listener& self) noexcept { static_cast<block_waits&>(self).wake_.set(); }},
        loop_{&loop},
        pool_{&pool},
        wake_{std::move(wake)} {
    if (wake_.get() != -1) loop.start_watching(*this, policy);
  }

  /// One call of `ready`, whose tasks may destroy the object.
  struct turn {
    explicit turn(block_waits& of) noexcept : waits{&of} { of.turn_ = this; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (waits != nullptr) waits->turn_ = nullptr;
    }
    block_waits* waits;
  };

  /// Gives the blocks that are free to the tasks that wait.
  inline bool ready() override;

  event_loop* loop_;
  buffer_pool* pool_;
  detail::event_descriptor wake_;
  waiter_list waiters_;
  turn* turn_ = nullptr;
};

/// A wait for a block.
class block_step : public detail::async_step<block_step> {
 public:
  /// Makes the step of these waits.
  block_step(block_waits& of, timeout limit) noexcept : waits_{&of}, limit_{limit} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *waits_->loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::sleeper {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const block_step& step) noexcept : sleeper{&resume}, step_{&step} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() noexcept {
      block_waits& waits = *step_->waits_;
      // The tasks that wait come first.
      if (waits.waiters_.empty() && try_take()) return false;
      waits.pool_->set_listener(&waits);
      // A block that was given back before that is found here, and no wake-up is lost.
      if (waits.waiters_.empty() && try_take()) {
        waits.pool_->set_listener(nullptr);
        return false;
      }
      waits.waiters_.push_back(*this);
      if (!step_->limit_.is_endless()) waits.loop_->set_timer_after(*this, step_->limit_);
      return true;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] buffer_lease take(on_failure policy) {
      policy.clear();
      if (is_cancelled()) detail::report_cancelled(policy, "async::block_waits::take");
      return std::move(lease_);
    }

   private:
    [[nodiscard]] bool try_take() noexcept {
      lease_ = step_->waits_->pool_->try_take();
      return static_cast<bool>(lease_);
    }
    /// Resumed by a block, by the time limit, or by a cancellation.
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      const bool is_for_block = self.is_woken;
      if (is_for_block && !self.try_take()) {
        self.is_woken = false;
        return false;
      }
      return detail::stop_and_finish<Derived>(which);
    }

    const block_step* step_;
    buffer_lease lease_;
  };

 private:
  block_waits* waits_;
  timeout limit_;
};

inline block_step block_waits::take(timeout limit) noexcept { return {*this, limit}; }

inline bool block_waits::ready() {
  wake_.clear();
  const turn now{*this};
  while (!waiters_.empty()) {
    auto& first = static_cast<detail::sleeper&>(waiters_.front());
    first.is_woken = true;
    if (!first.go_on() || now.waits == nullptr) return true;
  }
  pool_->set_listener(nullptr);
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::async
