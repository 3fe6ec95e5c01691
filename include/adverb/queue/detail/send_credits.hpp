// SPDX-License-Identifier: MIT
// The arithmetic of a send window: which requests to signal, and how many are in progress.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Counts the credits of a send window. Requests are posted in stretches. The last request of a
/// stretch is signaled, and its completion returns a credit for each request of the stretch. A
/// stretch takes the credits for its planned length when it begins: `every_`, or fewer if fewer are
/// free. So the request that takes the last credit is signaled, and a full window has a completion
/// to come.
///
/// Each of the `size_` credits is free, or belongs to a request that may still be posted in this
/// stretch (`left_`), or to a request in progress.
class send_credits {
 public:
  /// Constructs an object without credits.
  send_credits() noexcept = default;
  /// Constructs the credits for `size` requests, of which every `signal_every`-th is signaled. If
  /// `all_complete` is true, every request completes, signaled or not.
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
  /// Returns true if every request completes. Siw, among others, reports that of every queue pair
  /// (ibv_query_qp, sq_sig_all), so each request is signaled then.
  [[nodiscard]] bool all_complete() const noexcept { return all_complete_; }
  [[nodiscard]] std::uint32_t signal_every() const noexcept { return every_; }
  [[nodiscard]] std::uint32_t available() const noexcept { return free_ + left_; }
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return size_ - available(); }
  /// Returns how many of the last requests have no completion of their own.
  [[nodiscard]] std::uint32_t unsignaled() const noexcept {
    return broken_ ? 0 : posted_in_stretch();
  }
  /// Returns true if the counts are upper bounds.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// Returns true if a completion is to come that returns credits.
  [[nodiscard]] bool makes_room() const noexcept {
    return broken_ ? outstanding() != 0 : head_ != tail_;
  }

  /// Returns true if none of the next `count` requests ends the stretch.
  [[nodiscard]] bool stays_in_stretch(std::size_t count) noexcept {
    return left_ > count || (length_ < every_ && prolong() > count);
  }
  /// Counts accepted requests that are not signaled and stay in the stretch.
  void count_unsignaled(std::size_t count) noexcept { left_ -= static_cast<std::uint32_t>(count); }

  [[nodiscard]] bool fits(std::size_t count) const noexcept { return count <= available(); }

  /// Returns true if the last request of a chain must be signaled. The chain must fit. An
  /// element of `asked` is true if the program has set the signal of that request.
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

  /// Counts an accepted request.
  void count(bool is_signaled) noexcept {
    if (left_ != 0) {
      --left_;
    } else {  // It is longer than was planned.
      --free_;
      ++length_;
    }
    if (is_signaled || all_complete_) end_stretch();
  }

  /// Marks the counts as upper bounds, because the number of accepted requests is unknown.
  void set_broken() noexcept { broken_ = true; }

  /// Counts the success of a signaled request and its stretch. Returns false if none is in
  /// progress.
  [[nodiscard]] bool succeeded() noexcept {
    if (head_ == tail_) [[unlikely]]
      return false;
    free_ += lengths_[tail_++ & mask_];
    return true;
  }

  /// Counts a request that failed or was flushed, signaled or not. Earlier requests may have
  /// succeeded without a completion, so the counts become upper bounds. Returns false if no request
  /// is in progress.
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

  /// Resets the counts: no request is in progress.
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

  /// The rest of the stretch, if there is one, becomes the next, which is prolonged when it needs
  /// more.
  void end_stretch() noexcept {
    const std::uint32_t left = left_;
    const std::uint32_t posted = posted_in_stretch();
    length_ = left;
    lengths_[head_++ & mask_] = posted;
    if (left == 0) [[unlikely]]
      begin_stretch();
  }

  /// Extends a stretch that was short of credits when it began, and returns its remainder.
  std::uint32_t prolong() noexcept {
    const std::uint32_t missing = every_ - length_;
    const std::uint32_t more = free_ < missing ? free_ : missing;
    free_ -= more;
    length_ += more;
    return left_ += more;
  }

  // The current stretch.
  std::uint32_t left_ = 0;
  std::uint32_t length_ = 0;

  std::uint32_t free_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t every_ = 0;
  // The lengths of the ended stretches that have not completed, the oldest at `tail_`: a ring with
  // room for all requests.
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t mask_ = 0;
  bool all_complete_ = false;
  bool broken_ = false;
  std::vector<std::uint32_t> lengths_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
