// SPDX-License-Identifier: MIT
// The loop that a thread runs, and the thread that runs a loop, for checks at the level DEBUG.
#pragma once

#include <atomic>
#include <concepts>
#include <utility>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class device_loop;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// Records at the level DEBUG that the thread resumes tasks of a loop, while the object lives.
class loop_on_thread {
 public:
  /// The part of a loop that names the thread which runs it.
  class of_loop {
   public:
    /// Ends the program if another thread runs the loop.
    void check([[maybe_unused]] const char* call) const noexcept {
      if constexpr (is_checked) {
        const void* const running = thread_.load(std::memory_order_relaxed);
        require(running == nullptr || running == &current(), call,
                "another thread runs the loop, and only that may use its objects: post a function "
                "to it");
      }
    }

   private:
    friend class loop_on_thread;
    std::atomic<const void*> thread_{nullptr};
  };

  // A template, because device_loop has an of_loop.
  template <std::derived_from<async::device_loop> Loop>
  explicit loop_on_thread([[maybe_unused]] Loop& running) noexcept {
    if constexpr (is_checked) {
      before_ = std::exchange(current(), &running);
      part_ = &running.thread();
      thread_before_ = part_->thread_.exchange(&current());
    }
  }
  loop_on_thread(const loop_on_thread&) = delete;
  loop_on_thread& operator=(const loop_on_thread&) = delete;
  ~loop_on_thread() {
    if constexpr (is_checked) {
      current() = before_;
      part_->thread_ = thread_before_;
    }
  }

  /// Ends the program if a task of one loop awaits a step of another, which may never be resumed.
  static void check_step_of([[maybe_unused]] const async::device_loop& loop) noexcept {
    if constexpr (is_checked)
      require(current() == nullptr || current() == &loop, "co_await",
              "a task of one loop awaits a step of another: spawn a task on that loop instead");
  }

 private:
  static constexpr bool is_checked = hardened(ADVERB_HARDENING_DEBUG);

  static async::device_loop*& current() noexcept {
    static thread_local async::device_loop* loop = nullptr;
    return loop;
  }

  async::device_loop* before_ = nullptr;
  of_loop* part_ = nullptr;
  const void* thread_before_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail
