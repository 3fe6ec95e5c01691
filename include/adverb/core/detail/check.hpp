// SPDX-License-Identifier: MIT
// One checker for each failure convention of libibverbs and librdmacm; every call goes through one.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <adverb/core/detail/errno_of.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/failure.hpp>

struct ibv_context;

namespace adverb::inline ADVERB_ABI::detail {

/// Fills in a failure. Called only if something failed, and the policy needs more than a code.
using describe_failure = callable_ref<failure_description&>;

/// Returns true if a destroy found that the kernel has destroyed the object with its device.
// See docs/decisions.md, "A device that has gone takes its objects along".
[[nodiscard, gnu::cold]] inline bool has_gone_with_device(int result) noexcept {
  return errno_of(result) == EIO;
}

/// Checks a call that returns 0 or an errno. Returns true on success.
inline bool check_returned(on_failure policy, const char* verb, int result,
                           describe_failure describe) {
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  policy.report(errno_of(result), verb, describe);
  return false;
}

/// Checks a call that returns a pointer, or null and sets errno. Returns the pointer.
template <class Call>
auto check_pointer(on_failure policy, const char* verb, const Call& call, describe_failure describe)
    -> decltype(call()) {
  errno = 0;
  const auto result = call();
  if (result != nullptr) [[likely]]
    policy.clear();
  else
    policy.report(errno, verb, describe);
  return result;
}

/// Checks a call that returns -1 and usually sets errno; any other result is success. Returns true
/// on success.
template <class Call>
bool check_minus_one(on_failure policy, const char* verb, const Call& call,
                     describe_failure describe) {
  errno = 0;
  if (call() != -1) [[likely]] {
    policy.clear();
    return true;
  }
  policy.report(errno, verb, describe);
  return false;
}

/// Checks rdma_getaddrinfo, and returns true on success. The call returns 0, or -1 and an errno. If
/// a name was not resolved, it passes on the error of getaddrinfo, a negative number of the
/// category `names`: in errno, with -1, or as the result.
template <class Call>
bool check_looked_up(on_failure policy, const char* verb, const std::error_category& names,
                     const Call& call, describe_failure describe) {
  errno = 0;
  const int result = call();
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  const int number = result == -1 ? errno : result;
  // An allocation failure arrives as -1 in place of an error of getaddrinfo.
  const bool no_memory = result == -1 && number == -1;
  policy.report(no_memory    ? errno_code(ENOMEM)
                : number < 0 ? std::error_code{number, names}
                             : errno_code(number),
                verb, describe);
  return false;
}

/// Checks a call that waits, and returns -1 and sets errno on failure. EAGAIN and EINTR mean that
/// nothing arrived, which is no failure. Returns true if something arrived.
template <class Call>
bool check_waited(on_failure policy, const char* verb, const Call& call,
                  describe_failure describe) {
  bool nothing = false;
  const bool waited = check_minus_one(
      policy, verb,
      [&] {
        const int result = call();
        nothing = result == -1 && (errno == EAGAIN || errno == EINTR);
        return nothing ? 0 : result;
      },
      describe);
  return waited && !nothing;
}

/// Checks a call that returns a count, or a negated errno. Returns the count, 0 on failure.
inline std::size_t check_count(on_failure policy, const char* verb, long result,
                               describe_failure describe) {
  if (result >= 0) [[likely]] {
    policy.clear();
    return static_cast<std::size_t>(result);
  }
  policy.report(static_cast<int>(-result), verb, describe);
  return 0;
}

/// Checks ibv_rereg_mr, and returns its result: 0, or a negative number that describes the state of
/// the region. The call usually sets errno. Passes the number to `describe` too.
template <class Call, class Describe>
int check_reregistered(on_failure policy, const char* verb, const Call& call,
                       const Describe& describe) {
  errno = 0;
  const int result = call();
  if (result == 0) [[likely]]
    policy.clear();
  else
    policy.report(errno, verb,
                  [&](failure_description& description) { describe(description, result); });
  return result;
}

/// Reports a failed poll. Takes a copy of `describe`, so that its captures need not be in memory on
/// the success path.
template <class Describe>
[[gnu::cold, gnu::noinline]] void report_copy(on_failure policy, int number, const char* verb,
                                              Describe describe) {
  policy.report(number, verb, describe);
}

/// Checks a poll that returns a count, or a negative number without further meaning. Returns the
/// count, 0 on failure (EIO).
// See docs/decisions.md, "Poll failures are EIO".
template <class Describe>
std::size_t check_polled(on_failure policy, const char* verb, int result,
                         const Describe& describe) {
  // One branch covers no completions and a failure, so that the caller's loop need not test for an
  // empty result again.
  if (result <= 0) {
    if (result < 0) [[unlikely]]
      report_copy(policy, EIO, verb, describe);
    else
      policy.clear();
    return 0;
  }
  policy.clear();
  return static_cast<std::size_t>(result);
}

/// Checks a poll for one entry, and returns true if there is one. The call returns 0 for an entry,
/// ENOENT for none, and otherwise an errno or a negative number without further meaning (mlx5
/// returns -2, which is not ENOENT).
template <class Describe>
bool check_entry(on_failure policy, const char* verb, int result, const Describe& describe) {
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  if (result == ENOENT)
    policy.clear();
  else
    report_copy(policy, result < 0 ? EIO : result, verb, describe);
  return false;
}

/// Returns the context of an object whose C struct only later headers of rdma-core define; null
/// with other headers, which cannot create one.
template <class Object>
[[nodiscard]] ibv_context* context_of([[maybe_unused]] Object* object) noexcept {
  if constexpr (requires { object->context; })
    return object->context;
  else
    return nullptr;
}

/// Explains that the headers of rdma-core lack a function.
[[nodiscard]] inline auto not_declared(const char* verb) noexcept {
  return [verb](text_writer& writer) {
    writer.put("adverb was compiled with headers of rdma-core that lack ").put(verb);
  };
}

/// Calls `use` with the arguments if that compiles, and returns its result. Otherwise the headers
/// of rdma-core lack something that it uses: reports EOPNOTSUPP and returns `Result()`. `describe`
/// only names the object.
///
/// `use` is a generic lambda. The names that may be missing must depend on its parameters, and
/// appear in its requires clause. The clause names no captured variable, because GCC 12 fails with
/// an internal error if the program declares a function template of the same name:
///
///     call_if_declared<bool>(
///         policy, "ibv_new_verb", on_object<queue_pair_traits>(pair),
///         [&](auto* native)
///           requires requires { ibv_new_verb(native, 0U); }
///         { return check_returned(policy, "ibv_new_verb",
///                                 ibv_new_verb(native, 0U), …); },
///         pair);
template <class Result, class Use, class... Arguments>
Result call_if_declared(on_failure policy, const char* verb, describe_failure describe,
                        const Use& use, Arguments... arguments) {
  if constexpr (std::invocable<const Use&, Arguments...>) {
    return use(arguments...);
  } else {
    policy.report(EOPNOTSUPP, verb, [&](failure_description& description) {
      describe(description);
      description.explain(not_declared(verb));
    });
    return Result();
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
