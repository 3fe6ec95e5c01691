// SPDX-License-Identifier: MIT
// The arithmetic of a send window: which request is to be signaled, and how many are in progress.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Requests are numbered from one on in the order in which they are posted; the numbers wrap
/// around, so only their differences are looked at. All requests up to `retired_` are done; `left_`
/// more may be posted before number `limit_`, which is to be signaled, and behind which there may
/// be no room. `ring_` has the numbers of those in progress that complete.
///
/// A request is signaled when it is the n-th after the last signaled one, and when it takes the
/// last credit. So the queue is never full of requests of which none completes.
class send_credits {
 public:
  /// For no request.
  send_credits() noexcept = default;
  /// For `size` requests, of which every `signal_every`-th is signaled, the first after number
  /// `start`. With `all_complete` each request completes, whatever it asks for.
  send_credits(std::uint32_t size, std::uint32_t signal_every, bool all_complete,
               std::uint32_t start = 0)
      : retired_{start},
        due_{start + signal_every},
        size_{size},
        every_{signal_every},
        mask_{std::bit_ceil(size) - 1},
        all_complete_{all_complete},
        ring_(mask_ + std::size_t{1}, start) {
    move_limit(start);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t signal_every() const noexcept { return every_; }
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return posted() - retired_; }
  [[nodiscard]] std::uint32_t available() const noexcept { return size_ - outstanding(); }
  /// How many of the last requests complete only with a later one.
  [[nodiscard]] std::uint32_t unsignaled() const noexcept {
    if (broken_) return 0;
    return posted() - (head_ == tail_ ? retired_ : ring_[(head_ - 1) & mask_]);
  }
  /// Whether the counts have become upper bounds.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// Whether a completion is to come that gives back credits.
  [[nodiscard]] bool makes_room() const noexcept {
    return broken_ ? outstanding() != 0 : head_ != tail_;
  }

  /// Takes the credits of a chain of which nothing has to be signaled, and has `asked` to be: false
  /// for every other.
  template <std::size_t Count>
  [[nodiscard]] bool take_unsignaled(bool asked) noexcept {
    if (asked || left_ <= Count) return false;
    take(Count);
    return true;
  }

  [[nodiscard]] bool fits(std::size_t count) const noexcept { return count <= available(); }

  /// Whether the last request of a chain for which there is room has to be signaled. `asked` says
  /// which ones are to be.
  [[nodiscard]] bool is_last_due(std::span<const bool> asked) const noexcept {
    std::uint32_t number = posted();
    std::uint32_t due = due_;
    for (const bool each : asked) {
      ++number;
      if (each) due = number + every_;
    }
    return asked.back() || static_cast<std::int32_t>(number - due) >= 0 ||
           number == retired_ + size_;
  }

  /// Takes the credits of a chain for which there is room.
  void take(std::size_t count) noexcept { left_ -= static_cast<std::uint32_t>(count); }

  /// Notes which requests of a chain complete, after they were accepted.
  void accepted(std::span<const bool> signaled) noexcept {
    const std::uint32_t end = posted();
    note_all(signaled, end - static_cast<std::uint32_t>(signaled.size()));
    move_limit(end);
  }

  /// The same for a single request that completes.
  void accepted() noexcept {
    const std::uint32_t end = posted();
    note(end);
    move_limit(end);
  }

  /// Corrects the counts after a chain that was not accepted whole. Where the number is unknown,
  /// all of it counts as accepted: they may be in the queue.
  [[gnu::cold, gnu::noinline]] void refused(std::span<const bool> signaled,
                                            std::optional<std::size_t> accepted) noexcept {
    const auto start = static_cast<std::uint32_t>(posted() - signaled.size());
    const std::size_t count = accepted.value_or(signaled.size());
    const auto end = static_cast<std::uint32_t>(start + count);
    if (!accepted) broken_ = true;
    note_all(signaled.first(count), start);
    // What was to be signaled and is not there leaves that to the next one.
    if (static_cast<std::int32_t>(due_ - end) <= 0) due_ = end + 1;
    move_limit(end);
  }

  /// A signaled request has succeeded, and with it all before it. False when none is in progress.
  [[nodiscard]] bool succeeded() noexcept {
    const std::uint32_t last = posted();
    const std::uint32_t number = ring_[tail_ & mask_];
    // What stands there from an earlier round is not among the numbers that are in progress.
    if (number - retired_ - 1 >= last - retired_) [[unlikely]]
      return false;
    ++tail_;
    retired_ = number;
    move_limit(last);
    return true;
  }

  /// A request has failed or was flushed, signaled or not. Those before it may have succeeded
  /// without a completion, so that from now on there are at most so many. False when none is in
  /// progress.
  [[nodiscard]] bool failed() noexcept {
    const std::uint32_t last = posted();
    if (last == retired_) return false;
    broken_ = true;
    ++retired_;
    move_limit(last);
    return true;
  }

  /// Nothing is in progress any more.
  void restart() noexcept {
    retired_ = posted();
    tail_ = head_;
    due_ = retired_ + every_;
    broken_ = false;
    move_limit(retired_);
  }

 private:
  /// The number of the last request.
  [[nodiscard]] std::uint32_t posted() const noexcept { return limit_ - left_; }

  void note(std::uint32_t number) noexcept {
    ring_[head_++ & mask_] = number;
    due_ = number + every_;
  }

  /// Notes those of the requests after number `start` that complete.
  void note_all(std::span<const bool> signaled, std::uint32_t start) noexcept {
    for (const bool each : signaled) {
      ++start;
      if (each || all_complete_) note(start);
    }
  }

  /// Finds the next request that has to be signaled, after `last` was posted.
  void move_limit(std::uint32_t last) noexcept {
    const std::uint32_t before_due = due_ - retired_;
    limit_ = retired_ + (before_due < size_ ? before_due : size_);
    left_ = limit_ - last;
  }

  std::uint32_t left_ = 0;
  std::uint32_t limit_ = 0;
  std::uint32_t retired_ = 0;
  std::uint32_t due_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t every_ = 0;
  // Of the ring, which has room for all requests.
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t mask_ = 0;
  bool all_complete_ = false;
  bool broken_ = false;
  std::vector<std::uint32_t> ring_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
