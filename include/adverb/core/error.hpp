// SPDX-License-Identifier: MIT
// How an operation tells its caller that it failed.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <adverb/core/failure_hook.hpp>

namespace adverb::inline ADVERB_ABI {

/// What the default policy throws: a std::system_error that also knows the verb, the object and
/// the explanation.
class error : public std::system_error {
 public:
  explicit error(const adverb::failure& why) : std::system_error{why.code()}, why_{why} {}

  /// Everything that is known, as a value.
  [[nodiscard]] const adverb::failure& failure() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return why_.what(); }

 private:
  adverb::failure why_;
};

/// The default of `on_failure`: a failure is thrown as adverb::error. Without exceptions it is told
/// to the failure hook, and the program is aborted.
struct throwing {};

namespace detail {

/// The error code of an errno. A failed call that left none reports EIO.
[[nodiscard]] inline std::error_code errno_code(int number) noexcept {
  return {number == 0 ? EIO : number, std::generic_category()};
}

/// What destructors use: a failure is told to the failure hook.
struct to_failure_hook {};

[[noreturn, gnu::cold]] inline void fail(const failure& why) {
#if defined(__cpp_exceptions)
  throw error{why};
#else
  tell_failure_hook(why);
  std::abort();
#endif
}

}  // namespace detail

/// The last parameter of every operation that can fail: where its failure goes. It is not named but
/// made from what the caller writes:
///
///     operation(…);            // throws adverb::error
///     operation(…, code);      // std::error_code& code: set on failure, cleared on success
///     operation(…, why);       // adverb::failure& why: the same, with everything that is known
///
/// An operation that fails without throwing returns an empty handle or a default value. Refers to
/// the code or the failure, and is passed by value.
class on_failure {
 public:
  constexpr on_failure(throwing) noexcept {}
  constexpr on_failure(detail::to_failure_hook) noexcept : way_{way::tell} {}
  constexpr on_failure(std::error_code& code) noexcept : code_{&code}, way_{way::code} {}
  constexpr on_failure(failure& why) noexcept : why_{&why}, way_{way::failure} {}

  /// Says that the step went well. A code that is clear is not touched.
  constexpr void clear() const noexcept {
    if (failed()) [[unlikely]]
      clear_target(*this);
  }

  /// Whether the step before this one failed, without throwing.
  [[nodiscard]] constexpr bool failed() const noexcept {
    switch (way_) {
      case way::code: return static_cast<bool>(*code_);
      case way::failure: return static_cast<bool>(*why_);
      default: return false;
    }
  }

  /// Reports a failure that is already known.
  void report(const failure& known) const {
    report_known(*this, known);
    if (way_ == way::raise) __builtin_unreachable();
  }

  /// Reports a failure, by its errno or its code. `describe` is called with a failure_description,
  /// and only when more than a code is wanted. It is copied: what it holds need not be in memory as
  /// long as nothing fails.
  template <class Describe>
  void report(int number, std::string_view verb, const Describe& describe) const {
    report_errno(*this, number, verb, describe);
    if (way_ == way::raise) __builtin_unreachable();
  }
  template <class Describe>
  void report(std::error_code code, std::string_view verb, const Describe& describe) const {
    report_code(*this, code, verb, describe);
    if (way_ == way::raise) __builtin_unreachable();
  }

 private:
  enum class way : unsigned char { raise, tell, code, failure };

  // These are given a copy: one that is called by its address is in memory.
  [[gnu::cold, gnu::noinline]] static void clear_target(on_failure to) noexcept {
    if (to.way_ == way::code)
      to.code_->clear();
    else
      *to.why_ = failure{};
  }

  [[gnu::cold, gnu::noinline]] static void report_known(on_failure to, const failure& known) {
    switch (to.way_) {
      case way::raise: detail::fail(known);
      case way::tell: detail::tell_failure_hook(known); break;
      case way::code: *to.code_ = known.code(); break;
      case way::failure: *to.why_ = known; break;
    }
  }

  template <class Describe>
  [[gnu::cold, gnu::noinline]] static void report_code(on_failure to, std::error_code code,
                                                       std::string_view verb, Describe describe) {
    if (to.way_ == way::code)
      *to.code_ = code;
    else
      report_known(to, failure{code, verb, describe});
  }

  // An errno is one register, a code is two.
  template <class Describe>
  [[gnu::cold, gnu::noinline]] static void report_errno(on_failure to, int number,
                                                        std::string_view verb, Describe describe) {
    report_code(to, detail::errno_code(number), verb, describe);
  }

  union {
    std::error_code* code_ = nullptr;
    failure* why_;
  };
  way way_ = way::raise;
};

namespace detail {
/// What an `on_failure` is made from. An overload that takes anything in its place leaves it out.
template <class T>
concept takes_failure = std::convertible_to<T&, on_failure>;
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
