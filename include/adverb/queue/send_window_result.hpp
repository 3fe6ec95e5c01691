// SPDX-License-Identifier: MIT
// The result of a post through a send window.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// The result of a post through a send window: all requests were accepted, or the window was full
/// and nothing was posted, or the post failed.
class [[nodiscard("a post can be refused, or the window full: look at it")]] send_window_result {
 public:
  constexpr send_window_result(const post_result& posted) noexcept : posted_{posted} {}

  /// Returns true if all requests were accepted.
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return static_cast<bool>(posted_);
  }
  /// Returns true if nothing was posted because there were too few credits. Completions passed to
  /// `completed` return credits.
  [[nodiscard]] constexpr bool full() const noexcept {
    return posted_.queue() == detail::posted_to::full_send_window;
  }
  /// Returns the error; EAGAIN if the window was full.
  [[nodiscard]] std::error_code code() const noexcept {
    return full() ? detail::errno_code(EAGAIN) : posted_.code();
  }
  /// Returns the number of accepted requests like `post_result`; 0 if the window was full.
  [[nodiscard]] constexpr std::optional<std::size_t> accepted() const noexcept {
    if (full()) return 0;
    return posted_.accepted();
  }

  /// Fails if not all requests were accepted; with EAGAIN if the window was full.
  void check(on_failure policy = throwing{}) const {
    if (posted_) [[likely]]
      return policy.clear();
    report(*this, policy);
  }

 private:
  template <class Engine>
  friend class send_window;

  /// Returns the result for a full window of `size` requests, `outstanding` of them in progress.
  [[nodiscard]] static constexpr post_result of_full(const ibv_qp* pair, std::uint32_t outstanding,
                                                     std::uint32_t size) noexcept {
    return {pair, static_cast<int>(outstanding), size, detail::posted_to::full_send_window};
  }

  // Takes the result by value, so that it never has to be in memory.
  [[gnu::cold]] static void report(send_window_result result, on_failure policy);

  void describe_full(failure_description& description) const noexcept;

  post_result posted_;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/send_window_result.ipp>
#endif
