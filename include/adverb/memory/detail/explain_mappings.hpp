// SPDX-License-Identifier: MIT
// Explains why memory or a dma-buf could not be registered, by what the process has there.
#pragma once

#include <cstdint>

#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Explains why the pages of a range cannot be pinned, by the mappings of this process. `writes` is
/// true if the device is to write there.
[[gnu::cold]] void explain_mappings(problem_list& problems, std::uint64_t begin,
                                    std::uint64_t length, bool writes);

/// Explains EBADF and EINVAL of a range of a dma-buf by its descriptor.
[[gnu::cold]] void explain_dmabuf(problem_list& problems, int descriptor, std::uint64_t offset,
                                  std::uint64_t length);

/// The same for a dma-buf of that size.
[[gnu::cold]] void explain_dmabuf_range(problem_list& problems, std::uint64_t size,
                                        std::uint64_t offset, std::uint64_t length);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/explain_mappings.ipp>
#endif
