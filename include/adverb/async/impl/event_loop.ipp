// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/async/event_loop.hpp>
#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// The outermost coroutine of a spawned task. It frees itself at its end.
struct event_loop::root {
  struct promise_type {
    event_loop* loop;
    promise_type(event_loop& of, const task<>&) noexcept : loop{&of} {}
    ~promise_type() {
      loop->roots_.erase(std::coroutine_handle<promise_type>::from_promise(*this).address());
    }
    root get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    void unhandled_exception() noexcept {
      if (!loop->exception_) loop->exception_ = std::current_exception();
    }
  };
  std::coroutine_handle<promise_type> frame;
};

ADVERB_FUNC event_loop::root event_loop::run_root(event_loop&, task<> started) {
  co_await std::move(started);
}

ADVERB_FUNC event_loop::event_loop(const event_loop_options& options, on_failure policy)
    : device_loop{options.devices, policy}, options_{options} {
  if (policy.failed()) return;
  const auto nothing = [](const failure_description&) {};
  detail::check_minus_one(
      policy, "epoll_create", [&] { return epoll_ = ::epoll_create1(EPOLL_CLOEXEC); }, nothing);
  if (policy.failed()) return;
  detail::check_minus_one(
      policy, "eventfd", [&] { return wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }, nothing);
  if (policy.failed()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  set_watch(&watch, this);
}

ADVERB_FUNC event_loop::~event_loop() {
  while (!roots_.empty()) std::coroutine_handle<>::from_address(*roots_.begin()).destroy();
  if (wake_ != -1) ::close(wake_);
  if (epoll_ != -1) ::close(epoll_);
}

ADVERB_FUNC void event_loop::watch(void* self, event_source& source) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &source;
  ::epoll_ctl(static_cast<event_loop*>(self)->epoll_, EPOLL_CTL_ADD, source.file_descriptor(),
              &event);
}

ADVERB_FUNC void event_loop::spawn(task<> started) {
  const auto frame = run_root(*this, std::move(started)).frame;
  roots_.insert(frame.address());
  frame.resume();
}

ADVERB_FUNC void event_loop::stop() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one) == sizeof one);
}

ADVERB_FUNC void event_loop::turn() {
  const bool is_busy = options_.waiting == waiting::busy;
  int timeout = settle();
  if (roots_.empty() && ending() == 0) return;
  if (is_busy) {
    // The other descriptors are looked at once in a while.
    constexpr int polls = 64;
    for (int each = 0; each < polls; ++each)
      if (poll() != 0) settle();
    timeout = 0;
  } else if (!unfinished_.empty()) {
    timeout = 0;
  }
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  std::erase_if(unfinished_, [](event_source* each) { return each->ready(); });
  for (int each = 0; each < count; ++each) {
    auto* const source =
        static_cast<event_source*>(events[static_cast<std::size_t>(each)].data.ptr);
    if (source == nullptr) {
      std::uint64_t number = 0;
      static_cast<void>(::read(wake_, &number, sizeof number) == sizeof number);
      is_stopped_ = true;
    } else if (std::find(unfinished_.begin(), unfinished_.end(), source) == unfinished_.end() &&
               !source->ready()) {
      unfinished_.push_back(source);
    }
  }
}

ADVERB_FUNC void event_loop::run() {
  is_stopped_ = false;
  while (!is_stopped_ && !exception_ && (!roots_.empty() || ending() != 0)) turn();
  if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
}

}  // namespace adverb::inline ADVERB_ABI::async
