// SPDX-License-Identifier: MIT
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/task.hpp>
#include <adverb/async/waiter.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// The outermost coroutine of a spawned task. It frees itself at its end; the loop resumes it as a
/// waiter to have it destroyed earlier.
struct device_loop::root {
  struct promise_type : waiter {
    promise_type(device_loop& of, const task<>&) noexcept : waiter{&destroy}, loop{&of} {
      loop->roots_.push_front(*this);
    }
    // The loop may have nothing left to wait for.
    ~promise_type() { loop->wake(); }
    promise_type(const promise_type&) = delete;
    promise_type& operator=(const promise_type&) = delete;

    root get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    void unhandled_exception() noexcept { loop->exceptions_.push_back(std::current_exception()); }

    static bool destroy(waiter& which) {
      std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(which))
          .destroy();
      return true;
    }

    device_loop* loop;
  };
  std::coroutine_handle<promise_type> frame;
};

ADVERB_FUNC device_loop::root device_loop::run_root(device_loop&, task<> started) {
  co_await std::move(started);
}

ADVERB_FUNC task<> device_loop::run_and_report(task<> started,
                                               std::unique_ptr<end_function> on_end) {
  std::exception_ptr failure = co_await std::move(started).exception();
  started = task<>{nullptr};
  on_end->call(std::move(failure));
}

ADVERB_FUNC void device_loop::spawn(task<> started) {
  started.require_frame("device_loop::spawn");
  const detail::loop_on_thread now{*this};
  run_root(*this, std::move(started)).frame.resume();
  wake();
}

}  // namespace adverb::inline ADVERB_ABI::async
