// SPDX-License-Identifier: MIT
// The tasks that a loop runs, and the exceptions that leave them.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <adverb/async/waiter.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class device_loop;
template <class T>
class task;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// A function to call at the end of a task.
// Not in the frame of the coroutine: GCC 12 warns about frames that hold a local type.
struct task_end {
  virtual ~task_end() = default;
  virtual void call(std::exception_ptr failure) = 0;
};
template <class Function>
struct task_end_of final : task_end {
  explicit task_end_of(Function&& given) : function(std::move(given)) {}
  void call(std::exception_ptr failure) override { function(std::move(failure)); }
  Function function;
};

/// The tasks that a loop runs, and the exceptions that are thrown by its next runs. Not thread
/// safe.
class loop_tasks {
 public:
  loop_tasks() noexcept = default;
  loop_tasks(const loop_tasks&) = delete;
  loop_tasks& operator=(const loop_tasks&) = delete;
  ~loop_tasks() = default;

  [[nodiscard]] bool empty() const noexcept { return roots_.empty(); }
  /// Starts a task of a loop.
  void start(async::device_loop& loop, async::task<void> started);
  /// Destroys the tasks that have not ended, the newest first.
  void destroy_all() {
    while (roots_.resume_first()) {
    }
  }
  /// Returns a task that runs another, and then calls a function with its exception, or null.
  [[nodiscard]] static async::task<void> run_and_report(async::task<void> started,
                                                        std::unique_ptr<task_end> on_end);

  [[nodiscard]] bool has_exception() const noexcept { return oldest_ != nullptr; }
  /// Keeps the exception that is being handled. Without memory, it keeps the oldest only, which may
  /// be the lack of memory itself.
  void keep_exception() noexcept {
    if (oldest_ == nullptr) {
      oldest_ = std::current_exception();
      return;
    }
#if defined(__cpp_exceptions)
    try {
      others_.push_back(std::current_exception());
    } catch (const std::bad_alloc&) {
    }
#endif
  }
  /// Throws the oldest exception. There must be one.
  [[noreturn]] void rethrow_first() {
    const std::exception_ptr first = std::exchange(oldest_, nullptr);
    if (!others_.empty()) {
      oldest_ = std::move(others_.front());
      others_.erase(others_.begin());
    }
    std::rethrow_exception(first);
  }

 private:
  struct root;
  static root run(loop_tasks& tasks, async::device_loop& loop, async::task<void> started);

  /// The outermost frames of the tasks, the newest first.
  async::waiter_list roots_;
  std::exception_ptr oldest_;
  /// The next oldest first.
  std::vector<std::exception_ptr> others_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
