// SPDX-License-Identifier: MIT
// The error policies: how an operation tells its caller that it failed.
#pragma once

#include <concepts>
#include <cstdlib>
#include <system_error>
#include <type_traits>
#include <utility>

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

/// The default error policy: a failure is thrown as adverb::error. Without exceptions it is told
/// to the failure hook, and the program is aborted.
struct throwing {};

namespace detail {

/// What destructors use: a failure is told to the failure hook.
struct telling {};

template <class Policy>
inline constexpr bool is_error_policy =
    std::same_as<Policy, throwing> || std::same_as<Policy, std::error_code&> ||
    std::same_as<Policy, adverb::failure&> || std::same_as<Policy, telling>;

}  // namespace detail

/// The last parameter of every operation that can fail. Three spellings, one definition:
///
///     operation(…);            // throws adverb::error
///     operation(…, code);      // std::error_code& code: set on failure, cleared on success
///     operation(…, why);       // adverb::failure& why: the same, with everything that is known
///
/// An operation that fails without throwing returns an empty handle or a default value.
template <class Policy>
concept error_policy = detail::is_error_policy<Policy>;

namespace detail {

constexpr void clear(throwing) noexcept {}
constexpr void clear(telling) noexcept {}
inline void clear(std::error_code& code) noexcept { code.clear(); }
inline void clear(adverb::failure& why) noexcept {
  if (why) why = adverb::failure{};
}

/// Whether the step before this one failed, without throwing.
[[nodiscard]] constexpr bool failed(throwing) noexcept { return false; }
[[nodiscard]] inline bool failed(const std::error_code& code) noexcept {
  return static_cast<bool>(code);
}
[[nodiscard]] inline bool failed(const adverb::failure& why) noexcept {
  return static_cast<bool>(why);
}

[[noreturn, gnu::cold]] inline void fail(const adverb::failure& why) {
#if defined(__cpp_exceptions)
  throw error{why};
#else
  tell_failure_hook(why);
  std::abort();
#endif
}

/// Reports a failure that is already known, through the policy of the caller.
template <error_policy Policy>
[[gnu::cold, gnu::noinline]] void pass_on(Policy&& policy, const adverb::failure& why) {
  if constexpr (std::same_as<Policy, throwing>)
    fail(why);
  else if constexpr (std::same_as<Policy, telling>)
    tell_failure_hook(why);
  else if constexpr (std::same_as<Policy, std::error_code&>)
    policy = why.code();
  else
    policy = why;
}

/// Reports a failure through the policy. `describe` is called with a failure_description, and only
/// when the policy wants more than a code. It is taken by value: what it holds need not be in
/// memory as long as nothing fails.
template <error_policy Policy, class Describe>
[[gnu::cold, gnu::noinline]] void report(Policy&& policy, std::error_code code,
                                         std::string_view verb, Describe describe) {
  if constexpr (std::same_as<Policy, std::error_code&>)
    policy = code;
  else
    pass_on(std::forward<Policy>(policy), adverb::failure{code, verb, describe});
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
