// SPDX-License-Identifier: MIT
// Calls of functions that some supported versions of rdma-core do not declare.
#pragma once

#include <cerrno>
#include <concepts>
#include <string_view>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Explains that the headers of rdma-core lack a function.
[[nodiscard]] inline auto not_declared(std::string_view verb) noexcept {
  return [verb](text_writer& writer) {
    writer.put("this adverb was compiled with headers of rdma-core that lack ").put(verb);
  };
}

/// Calls `use` with the arguments if that compiles, and returns its result. Otherwise the headers
/// of rdma-core lack something that it uses: reports EOPNOTSUPP and returns `Result()`. `describe`
/// only names the object.
///
/// `use` is a generic lambda. The names that may be missing must depend on its parameters, and
/// appear in its requires clause:
///
///     call_if_declared<bool>(
///         policy, "ibv_new_verb", on_object<queue_pair_traits>(pair),
///         [&](auto* native)
///           requires requires { ibv_new_verb(native, 0U); }
///         { return check_returned(policy, "ibv_new_verb",
///                                 ibv_new_verb(native, 0U), …); },
///         pair);
template <class Result, class Use, class... Arguments>
Result call_if_declared(on_failure policy, std::string_view verb, describe_failure describe,
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
