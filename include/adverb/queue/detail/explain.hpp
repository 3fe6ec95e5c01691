// SPDX-License-Identifier: MIT
// Explains why calls on queues fail.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/shared_receive_queue_options.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds a part that was created on another device than `context`, or on another opening of it.
/// Skips a null part.
template <class Part>
void explain_other_device(problem_list& problems, std::string_view name, const Part* part,
                          context_ref context) {
  if (part == nullptr || part->context == context.native_handle()) return;
  problems.add("{} belongs to another context (of {})", {name, part->context->device->name});
}

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

/// Adds the attributes that violate the specification's table.
[[gnu::cold]] void explain_attributes(problem_list& problems, transport service, qp_state from,
                                      qp_state to, qp_attributes mask);

/// The maximum of a retry count, which has three bits on the wire.
inline constexpr std::uint8_t max_retries = 7;

// See docs/decisions.md, "Retry counts above 7".
[[nodiscard]] inline bool has_retries_of_wire(const ibv_qp_attr& values) noexcept {
  return values.retry_cnt <= max_retries && values.rnr_retry <= max_retries;
}

/// Adds the retry counts that exceed the maximum.
[[gnu::cold]] void explain_retries(problem_list& problems, const ibv_qp_attr& values);

/// Adds the values that exceed the limits of the device or the port.
[[gnu::cold]] void explain_values(problem_list& problems, context_ref context,
                                  const port_attributes& port, const ibv_qp_attr& values,
                                  qp_attributes mask);

/// Returns the port for an explanation: the announced one, or, if that is unknown and a port or its
/// device limits the attributes, the port that a query of the queue pair returns.
[[nodiscard, gnu::cold]] port_number port_to_explain(ibv_qp* queue_pair, qp_attributes mask,
                                                     port_number announced) noexcept;

/// Describes a failed transition completely (without a port if none is known): "INIT->RTR on rxe0:1
/// qp 0x11: EINVAL (…); sgid index 3 is empty; usable: …".
[[gnu::cold]] void explain_transition(failure_description& description, const ibv_qp* queue_pair,
                                      transport service, qp_state from, qp_state to,
                                      const ibv_qp_attr& values, qp_attributes mask,
                                      port_number port);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/explain.ipp>
#endif
