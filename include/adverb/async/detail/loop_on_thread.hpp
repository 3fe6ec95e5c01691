// SPDX-License-Identifier: MIT
// The loop that a thread runs, for a check at the level DEBUG.
#pragma once

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
  explicit loop_on_thread([[maybe_unused]] async::device_loop& running) noexcept {
    if constexpr (is_checked) before_ = std::exchange(current(), &running);
  }
  loop_on_thread(const loop_on_thread&) = delete;
  loop_on_thread& operator=(const loop_on_thread&) = delete;
  ~loop_on_thread() {
    if constexpr (is_checked) current() = before_;
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
};

}  // namespace adverb::inline ADVERB_ABI::detail
