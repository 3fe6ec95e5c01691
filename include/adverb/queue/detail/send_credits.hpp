// SPDX-License-Identifier: MIT
// The arithmetic of a send window: which request is to be signaled, and how many are in progress.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Requests are posted in stretches. The last request of a stretch is signaled, and its completion
/// gives back a credit for each request of the stretch. A stretch takes the credits for its planned
/// length when it begins: that is `every_`, or less when fewer credits are free. So the request
/// that takes the last credit is signaled, and a full window has a completion to come.
///
/// Each of the `size_` credits is free, or belongs to a request that may still be posted in this
/// stretch (`left_`), or to one in progress.
class send_credits {
 public:
  /// For no request.
  send_credits() noexcept = default;
  /// For `size` requests, of which every `signal_every`-th is signaled. With `all_complete` each
  /// request completes, whatever it asks for.
  send_credits(std::uint32_t size, std::uint32_t signal_every, bool all_complete)
      : free_{size},
        size_{size},
        every_{signal_every},
        mask_{std::bit_ceil(size) - 1},
        all_complete_{all_complete},
        lengths_(mask_ + std::size_t{1}) {
    begin_stretch();
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t signal_every() const noexcept { return every_; }
  [[nodiscard]] std::uint32_t available() const noexcept { return free_ + left_; }
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return size_ - available(); }
  /// How many of the last requests complete only with a later one.
  [[nodiscard]] std::uint32_t unsignaled() const noexcept {
    return broken_ ? 0 : posted_in_stretch();
  }
  /// Whether the counts have become upper bounds.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// Whether a completion is to come that gives back credits.
  [[nodiscard]] bool makes_room() const noexcept {
    return broken_ ? outstanding() != 0 : head_ != tail_;
  }

  /// Whether none of the next `count` requests ends the stretch.
  [[nodiscard]] bool stays_in_stretch(std::size_t count) noexcept {
    return left_ > count || (length_ < every_ && prolong() > count);
  }
  /// Counts requests that stay in the stretch and are not signaled, after they were accepted.
  void count_unsignaled(std::size_t count) noexcept { left_ -= static_cast<std::uint32_t>(count); }

  [[nodiscard]] bool fits(std::size_t count) const noexcept { return count <= available(); }

  /// Whether the last request of a chain for which there is room has to be signaled. `asked` says
  /// of each request whether it is to be.
  template <class Flags>
  [[nodiscard]] bool is_last_due(const Flags& asked) const noexcept {
    std::uint32_t count = 0;
    std::uint32_t since = posted_in_stretch();
    bool is_signaled = false;
    for (const bool each : asked) {
      ++count;
      since = each ? 0 : since + 1;
      is_signaled = each;
    }
    return is_signaled || since >= every_ || count == available();
  }

  /// Counts a request that was accepted.
  void count(bool is_signaled) noexcept {
    if (left_ != 0) {
      --left_;
    } else {  // It is longer than was planned.
      --free_;
      ++length_;
    }
    if (is_signaled || all_complete_) end_stretch();
  }

  /// It is unknown what the device has: what is counted is an upper bound from now on.
  void set_broken() noexcept { broken_ = true; }

  /// A signaled request has succeeded, and with it its stretch. False when none is in progress.
  [[nodiscard]] bool succeeded() noexcept {
    if (head_ == tail_) [[unlikely]]
      return false;
    free_ += lengths_[tail_++ & mask_];
    return true;
  }

  /// A request has failed or was flushed, signaled or not. Those before it may have succeeded
  /// without a completion, so that from now on there are at most so many. False when none is in
  /// progress.
  [[nodiscard]] bool failed() noexcept {
    if (outstanding() == 0) return false;
    broken_ = true;
    ++free_;
    if (head_ == tail_)
      --length_;
    else if (--lengths_[tail_ & mask_] == 0)
      ++tail_;
    return true;
  }

  /// Nothing is in progress any more.
  void restart() noexcept {
    free_ = size_;
    tail_ = head_;
    broken_ = false;
    begin_stretch();
  }

 private:
  [[nodiscard]] std::uint32_t posted_in_stretch() const noexcept { return length_ - left_; }

  void begin_stretch() noexcept {
    length_ = left_ = free_ < every_ ? free_ : every_;
    free_ -= length_;
  }

  void end_stretch() noexcept {
    lengths_[head_++ & mask_] = posted_in_stretch();
    free_ += left_;
    begin_stretch();
  }

  /// Gives the stretch the length that it could not have when it began. Returns what is left of it.
  std::uint32_t prolong() noexcept {
    const std::uint32_t missing = every_ - length_;
    const std::uint32_t more = free_ < missing ? free_ : missing;
    free_ -= more;
    length_ += more;
    return left_ += more;
  }

  // Of the stretch that has not ended.
  std::uint32_t left_ = 0;
  std::uint32_t length_ = 0;

  std::uint32_t free_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t every_ = 0;
  // The lengths of the stretches that have ended and not completed, the oldest at `tail_`: a ring
  // with room for all requests.
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t mask_ = 0;
  bool all_complete_ = false;
  bool broken_ = false;
  std::vector<std::uint32_t> lengths_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
