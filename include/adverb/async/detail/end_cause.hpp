// SPDX-License-Identifier: MIT
// The cause of the end of an asynchronous connection.
#pragma once

#include <cerrno>
#include <memory>
#include <new>
#include <string_view>

#include <adverb/core/error.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The first cause of an end: an errno, or a failure. Later ones are ignored.
class end_cause {
 public:
  [[nodiscard]] bool is_known() const noexcept { return number_ != 0 || failure_ != nullptr; }
  /// Returns the errno; 0 if the cause is unknown or a failure.
  [[nodiscard]] int number() const noexcept { return number_; }

  /// Records an errno.
  void record(int number) noexcept {
    if (!is_known()) number_ = number;
  }
  /// Records the failure that `report` reports to its policy.
  template <class Report>
  void record_failure(const Report& report) noexcept {
    if (is_known()) return;
    failure_.reset(new (std::nothrow) failure);
    if (failure_ != nullptr)
      report(on_failure{*failure_});
    else
      number_ = ENOMEM;
  }

  /// Reports the failure, or else `number` as the end of a connection.
  [[gnu::cold]] void report(int number, const char* verb, on_failure policy) const;

 private:
  int number_ = 0;
  std::unique_ptr<failure> failure_;
};

/// Reports that the program has cancelled a wait.
[[gnu::cold]] void report_cancelled(on_failure policy, const char* verb);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/end_cause.ipp>
#endif
