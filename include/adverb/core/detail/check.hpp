// SPDX-License-Identifier: MIT
// The failure conventions of libibverbs and librdmacm: one checker each, and no call is checked in
// any other way.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <adverb/core/error.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// For calls that return 0 or an errno, which some providers negate. True on success.
template <class Describe>
bool check_returned(on_failure policy, std::string_view verb, int result,
                    const Describe& describe) {
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  policy.report(result < 0 ? -result : result, verb, describe);
  return false;
}

/// For calls that return a pointer, or null and set errno. Returns the pointer.
template <class Call, class Describe>
auto check_pointer(on_failure policy, std::string_view verb, const Call& call,
                   const Describe& describe) -> decltype(call()) {
  errno = 0;
  const auto result = call();
  if (result != nullptr) [[likely]]
    policy.clear();
  else
    policy.report(errno, verb, describe);
  return result;
}

/// For calls that return -1 and (most of them) set errno; anything else is success. True on
/// success.
template <class Call, class Describe>
bool check_minus_one(on_failure policy, std::string_view verb, const Call& call,
                     const Describe& describe) {
  errno = 0;
  if (call() != -1) [[likely]] {
    policy.clear();
    return true;
  }
  policy.report(errno, verb, describe);
  return false;
}

/// For rdma_getaddrinfo, which returns 0; or -1 and an errno; or, where a name was not resolved,
/// what getaddrinfo said, which is a negative number of the category `names`: in errno, with -1, or
/// as the result. True on success.
template <class Call, class Describe>
bool check_looked_up(on_failure policy, std::string_view verb, const std::error_category& names,
                     const Call& call, const Describe& describe) {
  errno = 0;
  const int result = call();
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  const int number = result == -1 ? errno : result;
  // What failed for want of memory comes as a -1 that was taken for an answer of getaddrinfo.
  const bool no_memory = result == -1 && number == -1;
  policy.report(no_memory    ? errno_code(ENOMEM)
                : number < 0 ? std::error_code{number, names}
                             : errno_code(number),
                verb, describe);
  return false;
}

/// For calls that wait, and return -1 and set errno: EAGAIN and EINTR mean that nothing came, which
/// is no failure. True when something came.
template <class Call, class Describe>
bool check_waited(on_failure policy, std::string_view verb, const Call& call,
                  const Describe& describe) {
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

/// For calls that return a count, or a negated errno. Returns the count, 0 on failure.
template <class Describe>
std::size_t check_count(on_failure policy, std::string_view verb, long result,
                        const Describe& describe) {
  if (result >= 0) [[likely]] {
    policy.clear();
    return static_cast<std::size_t>(result);
  }
  policy.report(static_cast<int>(-result), verb, describe);
  return 0;
}

/// For ibv_rereg_mr, which returns 0, or a negative number of its own that tells what is left of
/// the region, and sets errno (mostly). Returns that number; `describe` is called with it too.
template <class Call, class Describe>
int check_reregistered(on_failure policy, std::string_view verb, const Call& call,
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

/// For polling, which returns a count, or a negative number that means nothing else. Returns the
/// count, 0 on failure (EIO).
// See docs/decisions.md, "Poll failures are EIO".
template <class Describe>
std::size_t check_polled(on_failure policy, std::string_view verb, int result,
                         const Describe& describe) {
  // None and a failure are asked for at once: whoever looks at the completions need not ask again
  // whether there are any.
  if (result <= 0) {
    if (result < 0) [[unlikely]]
      policy.report(EIO, verb, describe);
    else
      policy.clear();
    return 0;
  }
  policy.clear();
  return static_cast<std::size_t>(result);
}

/// For polling entry by entry, which returns 0 when there is an entry, ENOENT when there is none,
/// and otherwise an errno or a negative number that means nothing else (mlx5's is -2, which is no
/// ENOENT). True when there is an entry.
template <class Describe>
bool check_entry(on_failure policy, std::string_view verb, int result, const Describe& describe) {
  if (result == 0) [[likely]] {
    policy.clear();
    return true;
  }
  if (result == ENOENT)
    policy.clear();
  else
    policy.report(result < 0 ? EIO : result, verb, describe);
  return false;
}

}  // namespace adverb::inline ADVERB_ABI::detail
