// SPDX-License-Identifier: MIT
// Prepared requests on their way through a send window.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Which requests of a linked chain are signaled.
class signaled_in_chain {
 public:
  class iterator {
   public:
    explicit iterator(const ibv_send_wr* at) noexcept : at_{at} {}
    [[nodiscard]] bool operator*() const noexcept {
      return (at_->send_flags & IBV_SEND_SIGNALED) != 0;
    }
    iterator& operator++() noexcept {
      at_ = at_->next;
      return *this;
    }
    [[nodiscard]] bool operator==(const iterator&) const noexcept = default;

   private:
    const ibv_send_wr* at_;
  };

  explicit signaled_in_chain(const ibv_send_wr* first) noexcept : first_{first} {}
  [[nodiscard]] iterator begin() const noexcept { return iterator{first_}; }
  [[nodiscard]] iterator end() const noexcept { return iterator{nullptr}; }

 private:
  const ibv_send_wr* first_;
};

/// What was prepared, as an engine takes it: `post_linked` has the say of how it is posted.
template <class Prepared, class PostLinked>
struct prepared_for_window {
  using prepared_requests = typename Prepared::prepared_requests;
  static constexpr bool is_just_one = Prepared::is_just_one;

  const Prepared& prepared;
  const PostLinked& post_linked;

  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return prepared.hand_over(
        [&](ibv_send_wr* first, std::uint32_t count) { return post_linked(first, count, post); });
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
