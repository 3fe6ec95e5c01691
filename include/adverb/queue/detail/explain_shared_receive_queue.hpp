// SPDX-License-Identifier: MIT
// Explains why a shared receive queue cannot be created or modified.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/device_attributes.hpp>
#include <adverb/queue/shared_receive_queue_options.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds the sizes that exceed the limits of the device.
[[gnu::cold]] void add_size_problems(problem_list& problems, const device_attributes& device,
                                     const shared_receive_queue_options& options);

/// Explains why a shared receive queue could not be created.
[[gnu::cold]] void explain_creation(problem_list& problems, context_ref context,
                                    const shared_receive_queue_options& options);

/// Explains why a shared receive queue cannot have this size.
[[gnu::cold]] void add_resize_problems(problem_list& problems, context_ref context,
                                       std::uint32_t max_wr, const ibv_srq_attr* now);

/// Explains why a shared receive queue could not be resized, or its limit not set.
[[gnu::cold]] void explain_modification(failure_description& description, ibv_srq* queue,
                                        const ibv_srq_attr& asked, int mask);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/explain_shared_receive_queue.ipp>
#endif
