// SPDX-License-Identifier: MIT
// What one thread hands over to another, and the eventfd that wakes the other.
#pragma once

#include <atomic>
#include <cstdint>

#include <unistd.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A list to which any thread adds. An element has a member `next`. Thread safe.
template <class T>
class shared_list {
 public:
  /// Adds an element. Returns true if the list was empty.
  bool push(T& added) noexcept {
    T* before = last_.load();
    do {
      added.next = before;
    } while (!last_.compare_exchange_weak(before, &added));
    return before == nullptr;
  }
  /// Takes all elements, the last one first.
  [[nodiscard]] T* take() noexcept { return last_.exchange(nullptr); }
  [[nodiscard]] bool empty() const noexcept { return last_.load() == nullptr; }

 private:
  std::atomic<T*> last_ = nullptr;
};

/// Makes an eventfd readable. Thread safe; may be called by a signal handler.
inline void set_eventfd(int descriptor) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(descriptor, &one, sizeof one) == sizeof one);
}
/// Makes a non-blocking eventfd unreadable.
inline void clear_eventfd(int descriptor) noexcept {
  std::uint64_t number = 0;
  static_cast<void>(::read(descriptor, &number, sizeof number) == sizeof number);
}

}  // namespace adverb::inline ADVERB_ABI::detail
