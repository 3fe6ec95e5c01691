// SPDX-License-Identifier: MIT
// The messages that have arrived on a link.
#pragma once

#include <cstdint>
#include <utility>

#include <adverb/async/detail/receive_blocks.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The messages that the program has not taken, in order, the number of those that it holds, and
/// the operations that wait for a message.
class inbox {
 public:
  /// Adds a message, and resumes the first operation that waits.
  [[gnu::always_inline]] void arrive(receive_block& block, const completion& each) {
    hold(block, each);
    block.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &block;
    last_ = &block;
    waiters_.resume_first();
  }
  /// The program has a message that was not added.
  [[gnu::always_inline]] void hold(receive_block& block, const completion& each) noexcept {
    block.received = each;
    if constexpr (poisons_blocks) unpoison(block.bytes());
    ++count_;
  }
  /// Takes the first message; null if there is none. The program holds it until `give_back`.
  [[nodiscard]] receive_block* take() noexcept {
    receive_block* const first = first_;
    if (first != nullptr) [[likely]]
      first_ = first->next;
    return first;
  }
  /// The program has destroyed a message.
  void give_back(const receive_block& block) noexcept {
    if constexpr (poisons_blocks) poison(block.bytes());
    --count_;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] async::waiter_list& waiters() noexcept { return waiters_; }
  /// Returns the number of messages that the program holds.
  [[nodiscard]] std::uint32_t held() const noexcept {
    std::uint32_t held = count_;
    for (const auto* each = first_; each != nullptr; each = each->next) --held;
    return held;
  }

 private:
  receive_block* first_ = nullptr;
  receive_block* last_ = nullptr;
  /// The number of messages that have arrived and are not destroyed.
  std::uint32_t count_ = 0;
  async::waiter_list waiters_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
