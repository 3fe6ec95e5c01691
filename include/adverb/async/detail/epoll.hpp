// SPDX-License-Identifier: MIT
// An epoll instance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Owns an epoll instance, which waits for the events of descriptors.
class epoll {
 public:
  epoll() noexcept = default;
  epoll(epoll&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  epoll& operator=(epoll&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~epoll() {
    if (descriptor_ != -1) ::close(descriptor_);
  }

  /// Returns the descriptor, which is readable when `wait` would return something.
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  /// Wraps: epoll_create(2).
  void create(on_failure policy) {
    check_minus_one(
        policy, "epoll_create", [&] { return descriptor_ = ::epoll_create1(EPOLL_CLOEXEC); },
        [](const failure_description&) {});
  }
  /// Adds a descriptor, with what `wait` returns for it. Wraps: epoll_ctl(2).
  void add(int descriptor, void* data, on_failure policy, std::uint32_t events = EPOLLIN) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = data;
    check_minus_one(
        policy, "epoll_ctl",
        [&] { return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event); },
        [&](failure_description& description) {
          description.object("descriptor {}", {static_cast<std::uint64_t>(descriptor)});
        });
  }
  /// Changes the events of a descriptor. Wraps: epoll_ctl(2).
  void change(int descriptor, void* data, std::uint32_t events) const noexcept {
    epoll_event event{};
    event.events = events;
    event.data.ptr = data;
    static_cast<void>(::epoll_ctl(descriptor_, EPOLL_CTL_MOD, descriptor, &event));
  }
  /// Removes a descriptor, which may be closed. Wraps: epoll_ctl(2).
  void remove(int descriptor) const noexcept {
    static_cast<void>(::epoll_ctl(descriptor_, EPOLL_CTL_DEL, descriptor, nullptr));
  }
  /// Waits for at most this many milliseconds; without end for -1. Returns the descriptors
  /// with events; none if a signal handler ran. Wraps: epoll_wait(2).
  template <std::size_t Size>
  [[nodiscard]] std::span<const epoll_event> wait(std::array<epoll_event, Size>& events,
                                                  int milliseconds) const noexcept {
    const int count =
        ::epoll_wait(descriptor_, events.data(), static_cast<int>(Size), milliseconds);
    return {events.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
  }

 private:
  int descriptor_ = -1;
};

}  // namespace adverb::inline ADVERB_ABI::detail
