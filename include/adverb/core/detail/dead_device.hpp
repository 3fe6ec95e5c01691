// SPDX-License-Identifier: MIT
// A device that the kernel has taken from the process.
#pragma once

#include <adverb/core/text.hpp>
#include <adverb/version.hpp>

struct ibv_context;

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if every call on an opened device fails with EIO, tried with ibv_query_port(3).
[[nodiscard, gnu::cold]] bool is_dead(const ibv_context* context) noexcept;

/// Explains the EIO of a call on an opened device; writes nothing if the device answers.
[[gnu::cold]] void explain_dead_device(text_writer& writer, const ibv_context* context);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/dead_device.ipp>
#endif
