// SPDX-License-Identifier: MIT
// Explains why a flow rule was refused, as far as the cause is visible.
#pragma once

#include <cstddef>
#include <cstring>

#include <infiniband/verbs.h>

#include <adverb/core/detail/problem_list.hpp>
#include <adverb/steering/detail/specification.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The maximum number of specifications in one rule on Linux.
inline constexpr unsigned max_flow_specifications = 10;

/// Calls `function` with the type of each specification and its bytes.
template <class Function>
void for_each_specification(const ibv_flow_attr* rule, const Function& function) {
  const auto* position = reinterpret_cast<const std::byte*>(rule) + sizeof *rule;
  for (unsigned index = 0; index < rule->num_of_specs; ++index) {
    decltype(ibv_flow_spec::hdr) header;
    std::memcpy(&header, position, sizeof header);
    function(static_cast<unsigned>(header.type), position);
    position += header.size;
  }
}

void add_flow_problems(problem_list& problems, const ibv_qp* pair, const ibv_flow_attr* rule);

/// Explains why a flow could not be created.
void explain_flow(failure_description& description, const ibv_qp* pair, const ibv_flow_attr* rule,
                  const lowering_notes& notes);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/explain_flow.ipp>
#endif
