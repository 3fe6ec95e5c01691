// SPDX-License-Identifier: MIT
// Tasks: coroutines that await the steps of a connection.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <adverb/async/detail/loop_on_thread.hpp>
#include <adverb/async/detail/loop_tasks.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class joined_tasks;

/// Awaits a step. It lives in the frame of the coroutine, and is the operation itself, so that
/// nothing is allocated.
template <class Step>
class step_awaiter : public Step::template operation<step_awaiter<Step>> {
  using base = typename Step::template operation<step_awaiter<Step>>;

 public:
  explicit step_awaiter(const Step& step) : base{step}, step_{&step} {}

  /// Returns true if what the step waits for is there, so that nothing has to start.
  [[nodiscard, gnu::always_inline]] bool await_ready() const {
    if constexpr (requires { this->is_met(); }) {
      loop_on_thread::check_step_of(step_->loop());
      return this->is_met();
    } else {
      return false;
    }
  }
  [[nodiscard, gnu::always_inline]] bool await_suspend(std::coroutine_handle<> who) {
    loop_on_thread::check_step_of(step_->loop());
    who_ = who;
    return this->start();
  }
  auto await_resume() { return this->take(step_->policy()); }

  /// Called when the operation has finished.
  void finished() { who_.resume(); }

 private:
  std::coroutine_handle<> who_;
  const Step* step_;
};

/// The base of the promises of all tasks.
class task_promise_base {
  struct final_awaiter {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] static std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().continuation();
    }
    static void await_resume() noexcept {}
  };

 public:
  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
  [[nodiscard]] static final_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  /// Sets the coroutine to resume at the end. If several tasks share a count, the last one resumes
  /// it.
  void set_continuation(std::coroutine_handle<> continuation,
                        std::size_t* count = nullptr) noexcept {
    continuation_ = continuation;
    count_ = count;
  }
  /// Returns the exception that left the task, or null.
  [[nodiscard]] const std::exception_ptr& exception() const noexcept { return exception_; }

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
  [[nodiscard]] std::coroutine_handle<> continuation() const noexcept {
    if (count_ != nullptr && --*count_ != 0) return std::noop_coroutine();
    return continuation_;
  }

  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  std::size_t* count_ = nullptr;
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
    require_frame("co_await");
    struct awaiter : awaiting {
      T await_resume() { return this->frame.promise().result(); }
    };
    return awaiter{{frame_}};
  }

 private:
  friend promise_type;
  friend class detail::loop_tasks;
  friend class detail::joined_tasks;

  struct awaiting {
    std::coroutine_handle<promise_type> frame;
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> who) noexcept {
      frame.resume();
      if (frame.done()) return false;
      frame.promise().set_continuation(who);
      return true;
    }
  };
  /// Like `co_await`, but returns the exception instead of throwing it.
  [[nodiscard]] auto exception() && noexcept {
    struct awaiter : awaiting {
      std::exception_ptr await_resume() const noexcept { return this->frame.promise().exception(); }
    };
    return awaiter{{frame_}};
  }

  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  /// Starts one of several tasks with a count. The last of them resumes `who`.
  void start_counted(std::coroutine_handle<> who, std::size_t& count) noexcept {
    require_frame("async::when_all");
    frame_.promise().set_continuation(who, &count);
    frame_.resume();
  }
  T result() { return frame_.promise().result(); }

  void require_frame(const char* call) const noexcept {
    detail::require(static_cast<bool>(frame_), call, "the task is empty: moved from");
  }

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

/// The common part of what awaits several tasks at once.
class joined_tasks {
 public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }

 protected:
  explicit joined_tasks(std::size_t tasks) noexcept : count_{tasks + 1} {}

  template <class T>
  void start(async::task<T>& which, std::coroutine_handle<> who) noexcept {
    which.start_counted(who, count_);
  }
  /// All have been started. Returns true if some have not ended.
  [[nodiscard]] bool must_wait() noexcept { return --count_ != 0; }
  template <class T>
  static T result_of(async::task<T>& which) {
    return which.result();
  }

 private:
  /// The tasks that have not ended, and 1 until all have started.
  std::size_t count_;
};

/// Awaits several tasks at once.
template <class... T>
class all_of : public joined_tasks {
  static constexpr bool has_results = !(std::is_void_v<T> && ...);

 public:
  explicit all_of(async::task<T>&&... tasks) noexcept
      : joined_tasks{sizeof...(T)}, tasks_{std::move(tasks)...} {}

  [[nodiscard]] bool await_suspend(std::coroutine_handle<> who) noexcept {
    std::apply([&](auto&... each) { (start(each, who), ...); }, tasks_);
    return must_wait();
  }
  auto await_resume() {
    return std::apply(
        [](auto&... each) {
          if constexpr (has_results)
            return std::tuple<std::conditional_t<std::is_void_v<T>, std::monostate, T>...>{
                value_of(each)...};
          else
            (result_of(each), ...);
        },
        tasks_);
  }

 private:
  template <class Result>
  static auto value_of(async::task<Result>& which) {
    if constexpr (std::is_void_v<Result>)
      return result_of(which), std::monostate{};
    else
      return result_of(which);
  }

  std::tuple<async::task<T>...> tasks_;
};

/// Awaits the tasks of a vector at once.
template <class T>
class all_in : public joined_tasks {
 public:
  explicit all_in(std::vector<async::task<T>>&& tasks) noexcept
      : joined_tasks{tasks.size()}, tasks_{std::move(tasks)} {}

  [[nodiscard]] bool await_suspend(std::coroutine_handle<> who) noexcept {
    for (async::task<T>& each : tasks_) start(each, who);
    return must_wait();
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (async::task<T>& each : tasks_) result_of(each);
    } else {
      std::vector<T> results;
      results.reserve(tasks_.size());
      for (async::task<T>& each : tasks_) results.push_back(result_of(each));
      return results;
    }
  }

 private:
  std::vector<async::task<T>> tasks_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// Starts tasks in this order, and resumes the awaiting coroutine when all have ended:
///
///     co_await when_all(replicate(first), replicate(second));
///     const auto [offset, keys] = co_await when_all(find(name), count(name));
///
/// The result is the tuple of their results, with a `std::monostate` for each task without one;
/// void if none has one. Throws the exception of the first task in this order that has one. Not
/// thread safe.
template <class... T>
[[nodiscard]] detail::all_of<T...> when_all(task<T>... tasks) noexcept {
  return detail::all_of<T...>{std::move(tasks)...};
}

/// Starts the tasks of a vector in order, and resumes the awaiting coroutine when all have ended:
///
///     co_await when_all(std::move(workers));
///
/// The result is the vector of their results; void if they have none. Throws the exception of the
/// first task in this order that has one. Not thread safe.
template <class T>
[[nodiscard]] detail::all_in<T> when_all(std::vector<task<T>> tasks) noexcept {
  return detail::all_in<T>{std::move(tasks)};
}

template <class Function>
  requires detail::makes_task<Function>
void device_loop::spawn(Function function) {
  // The frame holds the function.
  constexpr auto run = [](Function kept) -> task<void> { co_await kept(); };
  spawn(run(std::move(function)));
}

template <std::invocable<std::exception_ptr> OnEnd>
void device_loop::spawn(task<void> started, OnEnd on_end) {
  spawn(detail::loop_tasks::run_and_report(
      std::move(started), std::make_unique<detail::task_end_of<OnEnd>>(std::move(on_end))));
}

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/task.ipp>
#endif
