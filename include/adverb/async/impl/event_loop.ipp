// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/async/event_loop.hpp>
#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC event_loop::event_loop(const device_loop_options& options, on_failure policy)
    : device_loop{options, policy} {
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

ADVERB_FUNC void event_loop::stop() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one) == sizeof one);
}

ADVERB_FUNC void event_loop::turn() {
  const bool is_spinning = spin();
  int timeout = settle();
  if (!has_tasks() && ending() == 0) return;
  if (is_spinning || !unfinished_.empty()) timeout = 0;
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  for (int each = 0; each < count; ++each) {
    auto* const source =
        static_cast<event_source*>(events[static_cast<std::size_t>(each)].data.ptr);
    if (source == nullptr) {
      std::uint64_t number = 0;
      static_cast<void>(::read(wake_, &number, sizeof number) == sizeof number);
      is_stopped_ = true;
    } else if (std::find(unfinished_.begin(), unfinished_.end(), source) == unfinished_.end()) {
      unfinished_.push_back(source);
    }
  }
  // One that throws stays: it has taken its event.
  std::erase_if(unfinished_, [](event_source* each) { return each->ready(); });
}

ADVERB_FUNC void event_loop::run() {
  is_stopped_ = false;
  while (!is_stopped_ && (has_tasks() || ending() != 0)) turn();
  settle();
}

}  // namespace adverb::inline ADVERB_ABI::async
