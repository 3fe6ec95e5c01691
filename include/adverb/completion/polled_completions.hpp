// SPDX-License-Identifier: MIT
// One round of polling an extended completion queue, as a range.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/completion/extended_completion.hpp>
#include <adverb/core/detail/thread_sanitizer.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

// How many completions a round may take: so many, or all that are there.
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

/// What `extended_completion_queue::poll` returns: the completions that are there, taken off one by
/// one as the loop goes on. It can be gone through once. Leaving the loop early, also by an
/// exception, leaves the completions that it did not come to in the queue.
///
/// With some providers the queue is locked from the first completion until the loop has ended, or
/// was left and the range dies: a thread that polls the same queue meanwhile waits, and the thread
/// itself must not; nor may it end or reset a queue pair that completes there.
///
/// `Policy` is `throwing` or `on_failure`: a compiler that cannot keep a range of four words in
/// registers (Clang) would take three quarters more instructions for a poll that throws.
template <completion_fields Fields, class Limit, class Policy>
class [[nodiscard]] polled_completions {
 public:
  /// What the loop compares with at its end.
  struct sentinel {};

  /// An input iterator, by what it can do. It names no tag, and a sentinel of its own is its end:
  /// <iterator>, which has these, brings <streambuf>.
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

  /// Starts a round. `poll` is what makes one.
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
  /// The round of a temporary is over when its iterator is looked at.
  iterator begin() && = delete;
  [[nodiscard]] sentinel end() const noexcept { return {}; }

 private:
  [[gnu::always_inline]] void advance() {
    limit_.take_one();
    if (limit_.reached()) {
      // The last one of the limit is taken off by the end of the round: asking for one more would
      // take that off too.
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

  // Where the loop ends, and not only when the range dies: there it is known that a round has to be
  // ended, so that nothing has to remember it.
  [[gnu::always_inline]] void end_round() {
    has_entry_ = false;
    ibv_end_poll(queue_);
  }

  // What follows is given what it needs: a range that is handed to a function is in memory.
  [[gnu::cold, gnu::noinline]] static void end_failed_round(ibv_cq_ex* queue, int result,
                                                            on_failure policy) {
    ibv_end_poll(queue);
    report(queue, result, "ibv_next_poll", policy);
  }
  [[gnu::cold, gnu::noinline]] static void report(ibv_cq_ex* queue, int result,
                                                  std::string_view verb, on_failure policy) {
    detail::check_entry(policy, verb, result,
                        detail::on_object<detail::completion_queue_traits>(ibv_cq_ex_to_cq(queue)));
  }

  ibv_cq_ex* queue_;
  [[no_unique_address]] Limit limit_;
  [[no_unique_address]] Policy policy_;
  // There is a round, and one that is not over.
  bool has_entry_ = false;
};

}  // namespace adverb::inline ADVERB_ABI
