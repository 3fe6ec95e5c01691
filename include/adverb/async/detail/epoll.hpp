// SPDX-License-Identifier: MIT
// An epoll instance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/epoll.h>
#include <unistd.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Owns an epoll instance, which waits until descriptors are readable.
class epoll {
 public:
  epoll() noexcept = default;
  epoll(const epoll&) = delete;
  epoll& operator=(const epoll&) = delete;
  ~epoll() {
    if (descriptor_ != -1) ::close(descriptor_);
  }

  /// Wraps: epoll_create(2).
  void create(on_failure policy) {
    check_minus_one(
        policy, "epoll_create", [&] { return descriptor_ = ::epoll_create1(EPOLL_CLOEXEC); },
        [](const failure_description&) {});
  }
  /// Adds a descriptor, with what `wait` returns for it. Wraps: epoll_ctl(2).
  void add(int descriptor, void* data, on_failure policy) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = data;
    check_minus_one(
        policy, "epoll_ctl",
        [&] { return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event); },
        [&](failure_description& description) {
          description.object("descriptor {}", {static_cast<std::uint64_t>(descriptor)});
        });
  }
  /// Removes a descriptor, which may be closed. Wraps: epoll_ctl(2).
  void remove(int descriptor) const noexcept {
    static_cast<void>(::epoll_ctl(descriptor_, EPOLL_CTL_DEL, descriptor, nullptr));
  }
  /// Waits for at most this many milliseconds; without end for -1. Returns the readable
  /// descriptors; none if a signal handler ran. Wraps: epoll_wait(2).
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
