// SPDX-License-Identifier: MIT
// Error reporting: exceptions, error codes and failures.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI {

/// The exception of the default error policy: a std::system_error that also holds the verb, the
/// object and the explanation.
class error : public std::system_error {
 public:
  /// Makes the exception of a failure.
  explicit error(const adverb::failure& why);

  /// Returns the complete failure as a value.
  [[nodiscard]] const adverb::failure& failure() const noexcept { return why_; }
  // Defined here: if it were not, GCC would emit the class in every program that includes it.
  /// Returns the whole message of the failure.
  [[nodiscard]] const char* what() const noexcept override { return why_.what(); }

 private:
  adverb::failure why_;
};

/// The default of `on_failure`: throws adverb::error. Without exceptions, it calls the failure hook
/// and aborts the program.
struct throwing {};

namespace detail {

/// Returns the error code of an errno; EIO if the failed call left errno 0.
[[nodiscard]] inline std::error_code errno_code(int number) noexcept {
  return {number == 0 ? EIO : number, std::generic_category()};
}

/// The error policy of destructors: passes a failure to the failure hook.
struct to_failure_hook {};

/// Throws, or ends a program without exceptions.
[[noreturn, gnu::cold]] void fail(const failure& why);

}  // namespace detail

/// The error policy: the last parameter of every operation that can fail. It converts from what the
/// caller passes:
///
///     operation(…);            // throws adverb::error
///     operation(…, code);      // std::error_code& code: set on failure, cleared on success
///     operation(…, why);       // adverb::failure& why: the same, with all details
///
/// An operation that fails without throwing returns an empty handle or a default value. The policy
/// refers to the code or the failure, and is passed by value.
class on_failure {
 public:
  /// Throws `adverb::error`, sets the code, or fills in the failure.
  constexpr on_failure(throwing) noexcept {}
  constexpr on_failure(detail::to_failure_hook) noexcept : way_{way::tell} {}
  constexpr on_failure(std::error_code& code) noexcept : code_{&code}, way_{way::code} {}
  constexpr on_failure(failure& why) noexcept : code_{&why.code_}, way_{way::failure} {}

  /// Marks the step as successful. Does not write to a code that is already clear.
  [[gnu::always_inline]] constexpr void clear() const noexcept {
    if (failed()) [[unlikely]] {
      clear_target(*this);
      // For the compiler, which leaves out a test of the policy after this.
      if (failed()) __builtin_unreachable();
    }
  }

  /// Returns whether the previous step failed without throwing.
  [[nodiscard, gnu::always_inline]] constexpr bool failed() const noexcept {
    return code_ != nullptr && static_cast<bool>(*code_);
  }

  /// Returns whether a failure is thrown.
  [[nodiscard]] constexpr bool throws() const noexcept { return way_ == way::raise; }

  /// Reports an existing failure.
  void report(const failure& known) const {
    report_known(*this, known);
    assume_reported();
  }

  /// Reports a failure by its errno or its code. Calls `describe` with a failure_description, and
  /// only if the policy needs more than a code.
  void report(int number, const char* verb,
              detail::callable_ref<failure_description&> describe) const {
    report_errno(*this, number, verb, describe);
    assume_reported();
  }
  void report(std::error_code code, const char* verb,
              detail::callable_ref<failure_description&> describe) const {
    report_code(*this, code, verb, describe);
    assume_reported();
  }

  /// For the compiler, after a report out of line: a policy that throws does not return. It is a
  /// trap, because GCC drops a condition of unreachable code before the policy is a constant.
  [[gnu::always_inline]] constexpr void assume_reported() const noexcept {
    if (way_ == way::raise) __builtin_trap();
  }
  /// The same, and a code or a failure is set, so that a test of it after the call is left out.
  [[gnu::always_inline]] constexpr void assume_set() const noexcept {
    assume_reported();
    if (code_ != nullptr && !failed()) __builtin_unreachable();
  }

 private:
  // It is as wide as a pointer: a processor waits if a copy loads more than the last store wrote.
  enum class way : std::uintptr_t { raise, tell, code, failure };

  // These take a copy: a call through the address would force the policy into memory.
  [[gnu::cold]] static void clear_target(on_failure to) noexcept;

  [[gnu::cold]] static void report_known(on_failure to, const failure& known);

  [[gnu::cold]] static void report_code(on_failure to, std::error_code code, const char* verb,
                                        detail::callable_ref<failure_description&> describe);

  // Takes an errno, which needs one register; an error code needs two.
  [[gnu::cold]] static void report_errno(on_failure to, int number, const char* verb,
                                         detail::callable_ref<failure_description&> describe);

  /// Returns the failure of the program, of which the code is the first member.
  [[nodiscard]] failure& whole() const noexcept {
    static_assert(std::is_standard_layout_v<failure>);
    return *reinterpret_cast<failure*>(code_);
  }

  // The code of the program, or of its failure, so that one test covers both. Null if a failure is
  // thrown or passed to the failure hook.
  std::error_code* code_ = nullptr;
  way way_ = way::raise;
};

namespace detail {
/// A type that converts to `on_failure`. An overload with a generic parameter in its place excludes
/// these types.
template <class T>
concept takes_failure = std::convertible_to<T&, on_failure>;
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/error.ipp>
#endif
