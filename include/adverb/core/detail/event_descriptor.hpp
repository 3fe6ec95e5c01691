// SPDX-License-Identifier: MIT
// A file descriptor that one thread makes readable to wake another.
#pragma once

#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Owns an eventfd, which does not block.
class event_descriptor {
 public:
  /// Owns nothing.
  event_descriptor() noexcept = default;
  /// Wraps: eventfd(2).
  explicit event_descriptor(on_failure policy) {
    check_minus_one(
        policy, "eventfd", [&] { return descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); },
        [](const failure_description&) {});
  }
  event_descriptor(event_descriptor&& other) noexcept
      : descriptor_{std::exchange(other.descriptor_, -1)} {}
  event_descriptor& operator=(event_descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~event_descriptor() {
    if (descriptor_ != -1) ::close(descriptor_);
  }

  /// Returns the descriptor, or -1 if there is none.
  [[nodiscard]] int get() const noexcept { return descriptor_; }

  /// Makes the descriptor readable. Thread safe; signal handlers may call it.
  void set() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(::write(descriptor_, &one, sizeof one) == sizeof one);
  }
  /// Makes the descriptor unreadable.
  void clear() const noexcept {
    std::uint64_t number = 0;
    static_cast<void>(::read(descriptor_, &number, sizeof number) == sizeof number);
  }

 private:
  int descriptor_ = -1;
};

/// Puts a descriptor that is never readable in the place of one that the kernel has closed, which
/// would stay readable.
[[gnu::cold]] inline void silence(int descriptor) noexcept {
  const int quiet = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (quiet == -1) return;
  static_cast<void>(::dup3(quiet, descriptor, O_CLOEXEC));
  ::close(quiet);
}

}  // namespace adverb::inline ADVERB_ABI::detail
