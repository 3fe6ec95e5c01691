// SPDX-License-Identifier: MIT
// A list to which any thread adds.
#pragma once

#include <atomic>

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

}  // namespace adverb::inline ADVERB_ABI::detail
