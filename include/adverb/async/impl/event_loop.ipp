// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
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
  add_descriptor(wake_, nullptr, policy);
  if (!policy.failed()) set_watch(&watch, this, policy);
}

ADVERB_FUNC event_loop::~event_loop() {
  // What they hold may belong to the rest of the loop.
  destroy_tasks();
  do {
    while (to_call_ != nullptr) delete std::exchange(to_call_, to_call_->next);
    to_call_ = posted_.take();
  } while (to_call_ != nullptr);
  if (wake_ != -1) ::close(wake_);
  if (epoll_ != -1) ::close(epoll_);
}

ADVERB_FUNC void event_loop::add_descriptor(int descriptor, event_source* source,
                                            on_failure policy) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = source;
  detail::check_minus_one(
      policy, "epoll_ctl", [&] { return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event); },
      [&](failure_description& description) {
        description.object("descriptor {}", {static_cast<std::uint64_t>(descriptor)});
      });
}

ADVERB_FUNC void event_loop::watch(void* self, event_source& source, on_failure policy) {
  static_cast<event_loop*>(self)->add_descriptor(source.file_descriptor(), &source, policy);
}

ADVERB_FUNC void event_loop::stop() noexcept {
  is_stop_requested_ = true;
  detail::set_eventfd(wake_);
}

ADVERB_FUNC void event_loop::add(std::unique_ptr<posted> last) noexcept {
  // The loop takes all of them at once, after it has been woken for the first.
  if (posted_.push(*last.release())) detail::set_eventfd(wake_);
}

ADVERB_FUNC void event_loop::call_posted() {
  if (to_call_ == nullptr)
    for (posted* each = posted_.take(); each != nullptr;)
      each = std::exchange(each->next, std::exchange(to_call_, each));
  // One that throws leaves the rest.
  while (to_call_ != nullptr) {
    const std::unique_ptr<posted> first{to_call_};
    to_call_ = first->next;
    first->call();
  }
}

ADVERB_FUNC void event_loop::turn() {
  call_posted();
  const bool is_spinning = spin();
  int timeout = settle();
  if (!must_run()) return;
  if (is_spinning || !unfinished_.empty()) timeout = 0;
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  for (int each = 0; each < count; ++each) {
    auto* const source =
        static_cast<event_source*>(events[static_cast<std::size_t>(each)].data.ptr);
    if (source == nullptr) {
      detail::clear_eventfd(wake_);
      is_stopped_ = is_stop_requested_.exchange(false);
    } else if (std::find(unfinished_.begin(), unfinished_.end(), source) == unfinished_.end()) {
      unfinished_.push_back(source);
    }
  }
  // One that throws stays: it has taken its event.
  std::erase_if(unfinished_, [](event_source* each) { return each->ready(); });
}

ADVERB_FUNC void event_loop::run() {
  is_stopped_ = false;
  while (!is_stopped_ && must_run()) turn();
  settle();
}

}  // namespace adverb::inline ADVERB_ABI::async
