// SPDX-License-Identifier: MIT
// The receives of a shared queue that its users grant to their peers. Without I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <adverb/async/waiter.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Counts the receives of a shared queue, so that its users never grant more than it has posted.
/// Each share is guaranteed some receives, and is lent others while they are left. A receive is in
/// use while it is granted, or holds a message.
class receive_loans {
 public:
  explicit receive_loans(std::uint32_t receives) noexcept
      : receives_{receives}, lendable_{receives} {}
  receive_loans(const receive_loans&) = delete;
  receive_loans& operator=(const receive_loans&) = delete;

  [[nodiscard]] std::uint32_t receives() const noexcept { return receives_; }
  /// Returns the number that is neither in use nor guaranteed.
  [[nodiscard]] std::uint32_t lendable() const noexcept { return lendable_; }
  [[nodiscard]] std::uint32_t shares() const noexcept { return shares_; }

  /// Resumes a waiter later: not within the call that makes a receive lendable.
  using resume_function = void(void* argument, async::waiter& which);
  /// Sets the function that resumes the shares which wait for a loan.
  void set_resume(resume_function* function, void* argument) noexcept {
    resume_ = function;
    argument_ = argument;
  }

 private:
  friend class receive_share;

  /// Returns the number that is kept for newcomers, and for those that use less than their part.
  [[nodiscard]] std::uint32_t kept() const noexcept { return receives_ / 8; }
  /// Returns an equal part for each share and a newcomer.
  [[nodiscard]] std::uint32_t part() const noexcept { return receives_ / (shares_ + 1); }

  /// So many more are lendable: as many shares that wait may be lent one.
  void add_lendable(std::uint32_t count) noexcept {
    lendable_ += count;
    for (; count != 0 && !waiting_.empty() && resume_ != nullptr; --count) {
      async::waiter& first = waiting_.front();
      first.leave();
      resume_(argument_, first);
    }
  }

  std::uint32_t receives_;
  std::uint32_t lendable_;
  std::uint32_t shares_ = 0;
  async::waiter_list waiting_;
  resume_function* resume_ = nullptr;
  void* argument_ = nullptr;
};

/// The receives of one user. Move-only.
class receive_share {
 public:
  /// Makes an empty share.
  receive_share() noexcept = default;
  /// Takes `guaranteed` receives into use, and reserves `spare` others. It uses `most` at a time.
  /// Makes an empty share if the others do not leave so many.
  receive_share(const std::shared_ptr<receive_loans>& of, std::uint32_t guaranteed,
                std::uint32_t spare, std::uint32_t most) noexcept {
    if (of->lendable_ < guaranteed + spare) return;
    loans_ = of;
    in_use_ = guaranteed_ = guaranteed;
    spare_ = spare;
    most_ = most;
    of->lendable_ -= guaranteed + spare;
    ++of->shares_;
  }
  receive_share(receive_share&& other) noexcept { swap(other); }
  receive_share& operator=(receive_share&& other) noexcept {
    receive_share{std::move(other)}.swap(*this);
    return *this;
  }
  /// Gives back all.
  ~receive_share() {
    leave(0);
    if (loans_ != nullptr) loans_->add_lendable(in_use_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return loans_ != nullptr; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }

  /// Takes one more into use, if it is lent one.
  [[nodiscard]] bool take() noexcept {
    if (in_use_ >= guaranteed_) {
      const bool is_lent = loans_->lendable_ > (in_use_ < loans_->part() ? 0 : loans_->kept());
      if (in_use_ >= most_ || !is_lent) return false;
      --loans_->lendable_;
    }
    ++in_use_;
    return true;
  }
  /// Gives one back that is not granted, if few are left and it uses more than its part.
  [[nodiscard]] bool shrink() noexcept {
    if (in_use_ <= std::max(guaranteed_, loans_->part()) || loans_->lendable_ >= loans_->kept())
      return false;
    --in_use_;
    loans_->add_lendable(1);
    return true;
  }
  /// Sets the waiter that is resumed when others have given back what `take` was refused. The share
  /// must stay where it is.
  void set_waiter(async::waiter& which) noexcept { waiter_ = &which; }
  /// Has the waiter resumed, unless the share has its most.
  void wait() noexcept {
    if (waiter_ != nullptr && !waiter_->is_waiting() && in_use_ < most_)
      loans_->waiting_.push_back(*waiter_);
  }
  /// So many are not granted any more. Returns the number that it takes again, because they are
  /// guaranteed.
  [[nodiscard]] std::uint32_t take_back(std::uint32_t count) noexcept {
    const std::uint32_t before = std::max(in_use_, guaranteed_);
    in_use_ -= count;
    const std::uint32_t again = std::max(in_use_, guaranteed_) - in_use_;
    in_use_ += again;
    loans_->add_lendable(before - in_use_);
    return again;
  }
  /// Nothing more arrives: all but `held` are free, and these when it is destroyed.
  void leave(std::uint32_t held) noexcept {
    if (loans_ == nullptr || guaranteed_ == 0) return;
    const std::uint32_t freed = std::max(guaranteed_, in_use_) + spare_ - held;
    --loans_->shares_;
    in_use_ = held;
    guaranteed_ = 0;
    loans_->add_lendable(freed);
  }

 private:
  void swap(receive_share& other) noexcept {
    std::swap(loans_, other.loans_);
    std::swap(guaranteed_, other.guaranteed_);
    std::swap(spare_, other.spare_);
    std::swap(most_, other.most_);
    std::swap(in_use_, other.in_use_);
  }

  std::shared_ptr<receive_loans> loans_;
  std::uint32_t guaranteed_ = 0;
  std::uint32_t spare_ = 0;
  std::uint32_t most_ = 0;
  std::uint32_t in_use_ = 0;
  async::waiter* waiter_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail
