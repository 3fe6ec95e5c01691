// SPDX-License-Identifier: MIT
// The device's limits of reads and atomics in progress, which RTR and RTS need. The device is
// queried once per context.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/error.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Numbers of reads and atomics in progress at one queue pair, as far as a queue pair can hold
/// them.
struct atomic_limits {
  std::uint8_t destination;
  std::uint8_t initiator;
};

/// Returns the limits of the device: from the cache, or else with ibv_query_device_ex, whose
/// failure is not kept. The context must not be null. Thread safe, without a lock.
// See docs/decisions.md, "Limits of reads and atomics are queried once per context".
[[nodiscard]] atomic_limits limits_of(ibv_context* context, on_failure policy);

/// Queries the device, and keeps the result.
[[nodiscard, gnu::cold]] atomic_limits ask_for_limits(ibv_context* context, on_failure policy);

/// Makes the next call of `limits_of` query the device again.
void forget_limits_of(const ibv_context* context) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/atomic_limits.ipp>
#endif
