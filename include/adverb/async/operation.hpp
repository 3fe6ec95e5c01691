// SPDX-License-Identifier: MIT
// Operations: what a completion resumes.
#pragma once

#include <cstdint>

#include <adverb/completion/completion.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// An operation that the device completes. Every work request of an asynchronous queue carries the
/// address of one as its id (`.id(&operation)`), so that a completion finds its operation without a
/// table. It must stay where it is until the device has completed the request. Not thread safe.
class operation {
 public:
  /// The function that a completion calls. It may destroy the operation. It must not use the
  /// completion after it has called a function of the program, because that function may poll
  /// again.
  using function = void(operation&, const completion&);

  /// Makes an operation that calls `completed`.
  explicit constexpr operation(function* completed) noexcept : completed_{completed} {}

  /// Returns the operation of a completion.
  [[nodiscard]] static operation& of(const completion& each) noexcept {
    return *each.pointer<operation>();
  }

  /// Passes on the completion.
  void complete(const completion& each) { completed_(*this, each); }

  /// Replaces the function.
  void set(function* completed) noexcept { completed_ = completed; }

 private:
  function* completed_;
};

}  // namespace adverb::inline ADVERB_ABI::async
