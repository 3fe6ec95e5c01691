// SPDX-License-Identifier: MIT
// Creates a queue pair, and explains why it could not be created.
#pragma once

#include <string_view>
#include <system_error>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds the options beyond a plain queue pair, which a device may not support.
[[gnu::cold]] void put_beyond_plain(text_writer& writer, const queue_pair_options& options);

/// Explains why a queue pair could not be created.
[[gnu::cold]] void explain_creation(text_writer& writer, const std::error_code& code,
                                    context_ref context, transport service,
                                    const queue_pair_options& options);

/// Fails with EINVAL if both `cq` and one of `send_cq` and `recv_cq` are set, if a shared receive
/// queue is set for a transport that receives nothing, or if the option with the name `missing` is.
bool check_queue_options(on_failure policy, const char* verb, transport service,
                         const queue_pair_options& options, std::string_view missing = {});

/// Returns the name of the option of a missing completion queue; empty if none is missing.
[[nodiscard]] std::string_view missing_queue(transport service,
                                             const queue_pair_options& options) noexcept;

/// Creates a queue pair in a protection domain. Uses the extended call only if it is needed, since
/// not every provider has it.
[[nodiscard]] owned_queue_pair create_queue_pair_as_asked(transport service,
                                                          protection_domain_ref domain,
                                                          const queue_pair_options& options,
                                                          on_failure policy);

/// Returns true if extended calls are preferred, not required.
[[nodiscard]] inline bool prefers_extended(const queue_pair_options& options) noexcept {
  return options.fall_back_to_classic && !options.send_operations.empty();
}

/// Returns true if a queue pair with extended calls was refused because the device lacks them.
/// Returns false if the transport does not carry the requested operations.
[[nodiscard]] inline bool lacks_extended(transport service, const queue_pair_options& options,
                                         const failure& why) noexcept {
  return is_unsupported(why.code()) &&
         operations_carried_by(service).contains(options.send_operations);
}

/// Does the same, but falls back to classic calls if these options prefer extended calls.
[[nodiscard]] owned_queue_pair create_queue_pair(transport service, protection_domain_ref domain,
                                                 const queue_pair_options& options,
                                                 on_failure policy);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/create_queue_pair.ipp>
#endif
