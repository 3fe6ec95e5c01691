// SPDX-License-Identifier: MIT
// Creates the targets of extended reliable connections (XRC), and opens those of other processes.
#pragma once

#include <string_view>

#include <adverb/queue/detail/queue_traits.hpp>
#include <adverb/queue/xrc_domain.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options for creating or opening the target of an extended reliable connection.
struct xrc_target_options {
  /// Returned by `user_context()`.
  void* user_context = nullptr;
};

namespace detail {

/// Creates a target with a C call and records its XRC domain. `explain` explains a failure.
template <std::invocable Make, class Explain>
[[nodiscard]] owned_queue_pair make_xrc_target(on_failure policy, std::string_view verb,
                                               xrc_domain_ref domain, const Make& make,
                                               const Explain& explain) {
  return make_handle<owned_queue_pair>(
      policy, verb, [&] { return with_parents(make(), {domain.native_handle()}); },
      [&](failure_description& description) {
        on_object<xrc_domain_traits>(domain.native_handle())(description);
        explain(description);
      },
      domain);
}

[[nodiscard]] owned_queue_pair create_xrc_target(xrc_domain_ref domain,
                                                 const xrc_target_options& options,
                                                 on_failure policy);

[[nodiscard]] owned_queue_pair open_xrc_target(xrc_domain_ref domain, qp_number number,
                                               const xrc_target_options& options,
                                               on_failure policy);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/xrc_target.ipp>
#endif
