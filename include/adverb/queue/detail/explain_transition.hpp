// SPDX-License-Identifier: MIT
// Explains why a transition of a queue pair fails.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/queue/attribute.hpp>

namespace adverb::inline ADVERB_ABI::detail {

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
#include <adverb/queue/impl/explain_transition.ipp>
#endif
