// SPDX-License-Identifier: MIT
// One polling round of an extended completion queue, as a range.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/completion/extended_completion.hpp>
#include <adverb/core/detail/hardening.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

// Maximum number of completions in a round, or no limit.
class completion_limit {
 public:
  explicit completion_limit(std::size_t count) noexcept : left_{count} {}
  [[nodiscard]] bool reached() const noexcept { return left_ == 0; }
  void take_one() noexcept { --left_; }

 private:
  std::size_t left_;
};
struct no_completion_limit {
  [[nodiscard]] static constexpr bool reached() noexcept { return false; }
  static constexpr void take_one() noexcept {}
};

}  // namespace detail

/// The available completions, returned by `extended_completion_queue::poll`. The loop polls them
/// one by one. It can run only once. Leaving the loop early, also by an exception, leaves the
/// remaining completions in the queue.
///
/// Some providers lock the queue from the first completion until the loop ends or, after leaving it
/// early, the range is destroyed. Another thread that polls the queue then blocks; the same thread
/// must not poll it, nor destroy or reset a queue pair that completes there.
///
/// `Policy` is `throwing` or `on_failure`: with a single policy type, a compiler that cannot keep a
/// range of four words in registers (Clang) would need three quarters more instructions for a poll
/// that throws.
template <completion_fields Fields, class Limit, class Policy>
class [[nodiscard]] polled_completions {
 public:
  /// The end of the range.
  struct sentinel {};

  /// An input iterator by its operations. It has no tag, and its end is a sentinel of its own,
  /// because `<iterator>`, which declares these, includes `<streambuf>`.
  class iterator {
   public:
    using value_type = extended_completion<Fields>;
    using difference_type = std::ptrdiff_t;

    iterator() noexcept = default;
    explicit iterator(polled_completions& range) noexcept : range_{&range} {}

    [[nodiscard]] value_type operator*() const noexcept { return value_type{range_->queue_}; }
    [[gnu::always_inline]] iterator& operator++() {
      range_->advance();
      return *this;
    }
    [[gnu::always_inline]] void operator++(int) { range_->advance(); }
    [[nodiscard]] bool operator==(sentinel) const noexcept { return !range_->has_entry_; }

   private:
    polled_completions* range_ = nullptr;
  };

  /// Starts a round. Only `poll` calls it.
  [[gnu::always_inline]] polled_completions(ibv_cq_ex* queue, Limit limit, Policy policy)
      : queue_{queue}, limit_{limit}, policy_{policy} {
    if (limit_.reached()) {
      on_failure{policy_}.clear();
      return;
    }
    detail::require_present("ibv_start_poll", queue_);
    ibv_poll_cq_attr attributes{};
    const int result = ibv_start_poll(queue_, &attributes);
    if (result == 0) [[likely]]
      take();
    else if (result == ENOENT)
      on_failure{policy_}.clear();
    else
      report(queue_, result, "ibv_start_poll", policy_);
  }
  polled_completions(const polled_completions&) = delete;
  polled_completions& operator=(const polled_completions&) = delete;
  [[gnu::always_inline]] ~polled_completions() {
    if (has_entry_) ibv_end_poll(queue_);
  }

  [[nodiscard]] iterator begin() & noexcept { return iterator{*this}; }
  /// Deleted: the round of a temporary would end before its iterator is used.
  iterator begin() && = delete;
  [[nodiscard]] sentinel end() const noexcept { return {}; }

 private:
  [[gnu::always_inline]] void advance() {
    limit_.take_one();
    if (limit_.reached()) {
      // The end of the round consumes the last completion; ibv_next_poll would consume one more.
      end_round();
      return;
    }
    const int result = ibv_next_poll(queue_);
    if (result == 0) [[likely]] {
      take();
    } else if (result == ENOENT) {
      on_failure{policy_}.clear();
      end_round();
    } else {
      has_entry_ = false;
      end_failed_round(queue_, result, policy_);
    }
  }

  [[gnu::always_inline]] void take() {
    on_failure{policy_}.clear();
    detail::after_poll_of(queue_);
    has_entry_ = true;
  }

  // Ends the round when the loop ends, and not only in the destructor. There it is known that a
  // round is open, so that no flag is needed.
  [[gnu::always_inline]] void end_round() {
    has_entry_ = false;
    ibv_end_poll(queue_);
  }

  // Static, with the needed values as arguments: a range that is passed to a function is in memory.
  [[gnu::cold, gnu::noinline]] static void end_failed_round(ibv_cq_ex* queue, int result,
                                                            on_failure policy) {
    ibv_end_poll(queue);
    report(queue, result, "ibv_next_poll", policy);
  }
  [[gnu::cold, gnu::noinline]] static void report(ibv_cq_ex* queue, int result, const char* verb,
                                                  on_failure policy) {
    detail::check_entry(policy, verb, result,
                        detail::on_object<detail::completion_queue_traits>(ibv_cq_ex_to_cq(queue)));
  }

  ibv_cq_ex* queue_;
  [[no_unique_address]] Limit limit_;
  [[no_unique_address]] Policy policy_;
  // A round is open.
  bool has_entry_ = false;
};

}  // namespace adverb::inline ADVERB_ABI
