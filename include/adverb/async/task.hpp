// SPDX-License-Identifier: MIT
// Tasks: coroutines that await the steps of a connection.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <adverb/async/connection.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Awaits a step. It lives in the frame of the coroutine, and is the operation itself, so that
/// nothing is allocated.
template <class Step>
class step_awaiter : public Step::template operation<step_awaiter<Step>> {
  using base = typename Step::template operation<step_awaiter<Step>>;

 public:
  explicit step_awaiter(const Step& step) : base{step}, policy_{step.policy()} {}

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard, gnu::always_inline]] bool await_suspend(std::coroutine_handle<> who) {
    who_ = who;
    return this->start();
  }
  auto await_resume() { return this->take(policy_); }

  /// Called when the operation has finished.
  void finished() { who_.resume(); }

 private:
  std::coroutine_handle<> who_;
  on_failure policy_;
};

/// What the promises of all tasks have.
class task_promise_base {
  struct final_awaiter {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] static std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().continuation_;
    }
    static void await_resume() noexcept {}
  };

 public:
  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
  [[nodiscard]] static final_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  void set_continuation(std::coroutine_handle<> continuation) noexcept {
    continuation_ = continuation;
  }

  template <async_step_type Step>
  [[nodiscard]] static step_awaiter<Step> await_transform(const Step& step) {
    return step_awaiter<Step>{step};
  }
  template <class Awaitable>
    requires(!async_step_type<std::remove_cvref_t<Awaitable>>)
  [[nodiscard]] static Awaitable&& await_transform(Awaitable&& awaitable) noexcept {
    return std::forward<Awaitable>(awaitable);
  }

 protected:
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  std::exception_ptr exception_;
};

template <class T>
class task_promise : public task_promise_base {
 public:
  [[nodiscard]] async::task<T> get_return_object() noexcept;
  template <class Value>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  [[nodiscard]] T result() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  [[nodiscard]] async::task<void> get_return_object() noexcept;
  static void return_void() noexcept {}
  void result() const { rethrow(); }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// A coroutine that awaits steps of connections, and other tasks:
///
///     async::task<void> serve(async::connection client) {
///       while (const async::message message = co_await client.next())
///         co_await client.send(message.buffer());
///     }
///
/// It starts when it is awaited or passed to `device_loop::spawn`. Destroying it destroys its
/// frame, which cancels what it awaits. Not thread safe: used by the thread of the loop that it
/// awaits.
template <class T = void>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] task {
 public:
  /// For the compiler: the promise of the coroutine.
  using promise_type = detail::task_promise<T>;

  task(task&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_) frame_.destroy();
  }

  /// Starts the task, and resumes the awaiting coroutine at its end.
  // A task that ends without waiting does not resume the coroutine from there: without -O2, or with
  // the address sanitizer, GCC makes that a call, and a loop over such tasks runs out of stack.
  [[nodiscard]] auto operator co_await() && noexcept {
    struct awaiter {
      std::coroutine_handle<promise_type> frame;
      [[nodiscard]] static bool await_ready() noexcept { return false; }
      [[nodiscard]] bool await_suspend(std::coroutine_handle<> who) noexcept {
        frame.resume();
        if (frame.done()) return false;
        frame.promise().set_continuation(who);
        return true;
      }
      T await_resume() { return frame.promise().result(); }
    };
    return awaiter{frame_};
  }

 private:
  friend promise_type;

  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

template <class T>
async::task<T> task_promise<T>::get_return_object() noexcept {
  return async::task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
inline async::task<void> task_promise<void>::get_return_object() noexcept {
  return async::task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/task.ipp>
#endif
