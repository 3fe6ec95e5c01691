// SPDX-License-Identifier: MIT
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/task.hpp>
#include <adverb/async/waiter.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The outermost coroutine of a task that a loop runs. It frees itself at its end; the loop resumes
/// it as a waiter to have it destroyed earlier.
struct loop_tasks::root {
  struct promise_type : async::waiter {
    promise_type(loop_tasks& of, async::device_loop& run_by, const async::task<>&) noexcept
        : waiter{&destroy}, tasks{&of}, loop{&run_by} {
      tasks->roots_.push_front(*this);
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
    void unhandled_exception() noexcept { tasks->keep_exception(); }

    static bool destroy(waiter& which) {
      std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(which))
          .destroy();
      return true;
    }

    loop_tasks* tasks;
    async::device_loop* loop;
  };
  std::coroutine_handle<promise_type> frame;
};

ADVERB_FUNC loop_tasks::root loop_tasks::run(loop_tasks&, async::device_loop&,
                                             async::task<> started) {
  co_await std::move(started);
}

ADVERB_FUNC void loop_tasks::start(async::device_loop& loop, async::task<> started) {
  started.require_frame("device_loop::spawn");
  run(*this, loop, std::move(started)).frame.resume();
}

ADVERB_FUNC async::task<> loop_tasks::run_and_report(async::task<> started,
                                                     std::unique_ptr<task_end> on_end) {
  std::exception_ptr failure = co_await std::move(started).exception();
  started = async::task<>{nullptr};
  on_end->call(std::move(failure));
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC void device_loop::spawn(task<> started) {
  thread_.check("device_loop::spawn");
  const detail::loop_on_thread now{*this};
  tasks_.start(*this, std::move(started));
  wake();
}

}  // namespace adverb::inline ADVERB_ABI::async
