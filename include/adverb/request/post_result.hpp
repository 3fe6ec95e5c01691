// SPDX-License-Identifier: MIT
// The result of a post.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>

#include <adverb/core/error.hpp>
#include <adverb/fwd.hpp>
#include <adverb/request/detail/explain_post.hpp>

namespace adverb::inline ADVERB_ABI {

/// The result of a post: success, or an error and the number of accepted requests.
class [[nodiscard("a post can fail: call .check()")]] post_result {
 public:
  /// Constructs the result of an empty post, a success.
  constexpr post_result() noexcept = default;
  /// `object` is the C struct that has this queue, or null for an empty send window, `refused` the
  /// shape of the first request that was not accepted.
  constexpr post_result(const void* object, int error, std::uint32_t accepted,
                        detail::posted_to queue,
                        detail::request_shape refused = detail::request_shape::unknown) noexcept
      : object_{object},
        error_{error},
        packed_{accepted << low_bits | static_cast<std::uint32_t>(refused) << queue_bits |
                static_cast<std::uint32_t>(queue)} {}

  /// Returns true if all requests were accepted.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return error_ == 0; }
  /// Returns the error code of the C API; clear on success.
  [[nodiscard]] std::error_code code() const noexcept {
    return error_ == 0 ? std::error_code{} : detail::errno_code(error_);
  }
  /// Returns the number of accepted requests, which are the first ones. Returns nullopt if that is
  /// unknown because the provider did not report the failed request.
  [[nodiscard]] constexpr std::optional<std::size_t> accepted() const noexcept {
    if (accepted_or_unknown() == unknown) return std::nullopt;
    return accepted_or_unknown();
  }

  /// Returns the result of this post and of earlier ones that accepted `earlier` requests in all,
  /// for requests that are posted in several steps.
  [[nodiscard]] constexpr post_result after(std::uint32_t earlier) const noexcept {
    return accepted()
               ? post_result{object_, error_, accepted_or_unknown() + earlier, queue(), shape()}
               : *this;
  }

  /// Fails if not all requests were accepted.
  [[gnu::always_inline]] void check(on_failure policy = throwing{}) const {
    if (error_ == 0) [[likely]] {
      policy.clear();
    } else {
      report(*this, policy);
      policy.assume_reported();
    }
  }

  /// The number of accepted requests if it is unknown.
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max() >>
                                           (detail::posted_to_bits + detail::request_shape_bits);

 private:
  friend class send_window_result;

  static constexpr unsigned queue_bits = detail::posted_to_bits;
  static constexpr unsigned low_bits = queue_bits + detail::request_shape_bits;

  [[nodiscard]] constexpr std::uint32_t accepted_or_unknown() const noexcept {
    return packed_ >> low_bits;
  }
  [[nodiscard]] constexpr detail::request_shape shape() const noexcept {
    return static_cast<detail::request_shape>(packed_ >> queue_bits &
                                              ((1U << detail::request_shape_bits) - 1));
  }
  [[nodiscard]] constexpr detail::posted_to queue() const noexcept {
    return static_cast<detail::posted_to>(packed_ & ((1U << queue_bits) - 1));
  }

  // Takes the result by value, so that it never has to be in memory.
  [[gnu::cold]] static void report(post_result result, on_failure policy);

  [[gnu::cold]] void describe(failure_description& description) const noexcept;

  const void* object_ = nullptr;
  int error_ = 0;
  // The number of accepted requests in the high bits, the kind of queue in the lowest, the shape of
  // the refused request between them. The whole result is two words, which are returned in
  // registers.
  std::uint32_t packed_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/request/impl/post_result.ipp>
#endif
