// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <adverb/async/detail/loop_on_thread.hpp>
#include <adverb/async/event_loop.hpp>
#include <adverb/core/detail/hardening.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC event_loop::event_loop(const device_loop_options& options, on_failure policy)
    : device_loop{options, policy} {
  if (policy.failed()) return;
  // A turn needs no more, unless many sources have more to do.
  unfinished_.reserve(events_at_once);
  epoll_.create(policy);
  if (policy.failed()) return;
  wake_ = detail::event_descriptor{policy};
  if (policy.failed()) return;
  epoll_.add(wake_.get(), nullptr, policy);
  if (policy.failed()) return;
  constexpr auto watch = [](void* self, event_source& source, on_failure why) {
    static_cast<event_loop*>(self)->start_watching(source, why);
  };
  set_watch(watch, this, policy);
  set_run_until([](device_loop& loop, const bool& is_done) {
    return static_cast<event_loop&>(loop).run_to(is_done);
  });
}

class event_loop::running {
 public:
  explicit running(event_loop& of) noexcept : loop_{&of}, on_thread_{of} {
    detail::require(!loop_->is_running_, "event_loop::run", "a task of the loop called it");
    loop_->is_running_ = true;
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;
  ~running() {
    loop_->is_running_ = false;
    loop_->end_wait();
  }

 private:
  event_loop* loop_;
  detail::loop_on_thread on_thread_;
};

ADVERB_FUNC event_loop::~event_loop() {
  detail::require(!is_running_, "async::event_loop", "a task of the loop destroyed it");
  // Receivers of senders may post, and what was posted may belong to the rest of the loop.
  end_all();
  do {
    while (to_call_ != nullptr) delete std::exchange(to_call_, to_call_->next);
    to_call_ = posted_.take();
  } while (to_call_ != nullptr);
}

ADVERB_FUNC void event_loop::start_watching(event_source& source, on_failure policy) {
  epoll_.add(source.file_descriptor(), &source, policy);
}

ADVERB_FUNC void event_loop::stop_watching(event_source& source) noexcept {
  epoll_.remove(source.file_descriptor());
  std::replace(unfinished_.begin(), unfinished_.end(), &source,
               static_cast<event_source*>(nullptr));
}

ADVERB_FUNC void event_loop::stop() noexcept {
  is_stop_requested_ = true;
  wake_.set();
}

ADVERB_FUNC void event_loop::stop_on(std::initializer_list<int> signals, on_failure policy) {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int each : signals) ::sigaddset(&taken, each);
  const auto nothing = [](const failure_description&) {};
  // The signals are blocked last: after a failure they still do what they did.
  int descriptor = -1;
  detail::check_minus_one(
      policy, "signalfd",
      [&] { return descriptor = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK); }, nothing);
  if (policy.failed()) return;
  epoll_.add(descriptor, &signals_.emplace(*this, descriptor), policy);
  if (policy.failed()) return;
  detail::check_returned(policy, "pthread_sigmask", ::pthread_sigmask(SIG_BLOCK, &taken, nullptr),
                         nothing);
}

ADVERB_FUNC event_loop::own_source::~own_source() { ::close(file_descriptor()); }

ADVERB_FUNC bool event_loop::signal_source::ready() {
  signalfd_siginfo taken;
  while (::read(file_descriptor(), &taken, sizeof taken) == sizeof taken) loop->is_stopped_ = true;
  return true;
}

ADVERB_FUNC void event_loop::add(std::unique_ptr<posted> last) noexcept {
  // The loop takes all of them at once, after it has been woken for the first.
  if (posted_.push(*last.release())) wake_.set();
}

ADVERB_FUNC void event_loop::call_posted() {
  if (to_call_ == nullptr)
    for (posted* each = posted_.take(); each != nullptr;)
      each = std::exchange(each->next, std::exchange(to_call_, each));
  // A function that throws leaves the rest.
  while (to_call_ != nullptr) {
    const std::unique_ptr<posted> first{to_call_};
    to_call_ = first->next;
    first->call();
  }
}

ADVERB_FUNC bool event_loop::alarm_source::ready() {
  std::uint64_t expirations = 0;
  static_cast<void>(::read(file_descriptor(), &expirations, sizeof expirations));
  loop->alarm_time_ = timeout::endless().count();
  return true;
}

ADVERB_FUNC bool event_loop::set_alarm() {
  if (!alarm_) {
    const int descriptor = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor == -1) return false;
    std::error_code why;
    epoll_.add(descriptor, &alarm_.emplace(*this, descriptor), why);
    if (why) {
      alarm_.reset();
      return false;
    }
  }
  const std::int64_t next = next_timer();
  constexpr std::int64_t second = 1'000'000'000;
  itimerspec at{};
  at.it_value = {.tv_sec = next / second, .tv_nsec = next % second};
  if (::timerfd_settime(alarm_->file_descriptor(), TFD_TIMER_ABSTIME, &at, nullptr) != 0)
    return false;
  alarm_time_ = next;
  return true;
}

ADVERB_FUNC void event_loop::turn() {
  call_posted();
  const bool is_spinning = spin();
  int timeout = run_pending();
  if (!must_run()) return;
  if (is_spinning || !unfinished_.empty()) timeout = 0;
  constexpr int far = 20;  // Milliseconds.
  // An earlier alarm stays, as most timers are set again before they expire.
  if (timeout > far && (alarm_time_ <= next_timer() || set_alarm())) timeout = -1;
  std::array<epoll_event, events_at_once> events;
  for (const epoll_event& each : epoll_.wait(events, timeout)) {
    auto* const source = static_cast<event_source*>(each.data.ptr);
    if (source == nullptr) {
      wake_.clear();
      is_stopped_ = is_stop_requested_.exchange(false);
    } else if (std::find(unfinished_.begin(), unfinished_.end(), source) == unfinished_.end()) {
      unfinished_.push_back(source);
    }
  }
  // A source that throws stays, because it may have more to do.
  for (auto each = unfinished_.begin(); each != unfinished_.end();)
    each = *each == nullptr || (*each)->ready() ? unfinished_.erase(each) : each + 1;
}

ADVERB_FUNC bool event_loop::run_to(const bool& is_done) {
  const running now{*this};
  begin_wait(is_done);
  while (!is_stopped_ && must_run()) turn();
  // A stop that comes with the end of the wait ends the next run.
  if (!is_done) is_stopped_ = false;
  return is_done;
}

ADVERB_FUNC void event_loop::run() {
  const running now{*this};
  while (!is_stopped_ && must_run()) turn();
  run_pending();
  // An exception leaves a stop to the next run.
  is_stopped_ = false;
}

}  // namespace adverb::inline ADVERB_ABI::async
