// SPDX-License-Identifier: MIT
// Explains why a flow rule was refused, as far as the cause is visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/steering/detail/specification.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

enum class order_problem : std::uint8_t {
  none,
  header_twice,
  wrong_order,
  outer_after_inner,
  action_twice,
};

[[nodiscard]] constexpr std::string_view sentence_of(order_problem problem) noexcept {
  switch (problem) {
    case order_problem::none: return "";
    case order_problem::header_twice: return "a header is named twice";
    case order_problem::wrong_order: return "the headers are not in the order of the packet";
    case order_problem::outer_after_inner: return "an outer header follows an inner one";
    case order_problem::action_twice: return "an action is named twice";
  }
  return {};
}

/// The headers with a fixed order, by their depth in a packet.
enum class header : std::uint8_t { none, ethernet, network, security, transport, tunnel };

/// Returns the kind of a specification; none for those without a fixed place: MPLS and actions.
[[nodiscard]] constexpr header header_of(unsigned type) noexcept {
  switch (type & ~unsigned{IBV_FLOW_SPEC_INNER}) {
    case IBV_FLOW_SPEC_ETH: return header::ethernet;
    case IBV_FLOW_SPEC_IPV4:
    case IBV_FLOW_SPEC_IPV4_EXT:
    case IBV_FLOW_SPEC_IPV6: return header::network;
    case IBV_FLOW_SPEC_ESP: return header::security;
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP: return header::transport;
    case IBV_FLOW_SPEC_VXLAN_TUNNEL:
    case IBV_FLOW_SPEC_GRE: return header::tunnel;
    default: return header::none;
  }
}

[[nodiscard]] constexpr bool is_inner(unsigned type) noexcept {
  return (type & unsigned{IBV_FLOW_SPEC_INNER}) != 0;
}

/// Returns true if a header cannot precede another. ESP may be in UDP, and UDP or TCP in ESP.
[[nodiscard]] constexpr bool is_deeper(header before, header after) noexcept {
  return before > after && !(before == header::transport && after == header::security);
}

[[nodiscard]] constexpr bool is_single_action(unsigned type) noexcept {
  return type == IBV_FLOW_SPEC_ACTION_TAG || type == IBV_FLOW_SPEC_ACTION_DROP;
}

/// Returns the first problem with the order of `count` types.
[[nodiscard]] constexpr order_problem order_problem_of(const unsigned* types,
                                                       std::size_t count) noexcept {
  for (std::size_t later = 0; later < count; ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const unsigned before = types[earlier];
      const unsigned after = types[later];
      if (before == after && is_single_action(before)) return order_problem::action_twice;
      if (header_of(before) == header::none || header_of(after) == header::none) continue;
      if (is_inner(before) && !is_inner(after)) return order_problem::outer_after_inner;
      if (is_inner(before) != is_inner(after)) continue;
      if (header_of(before) == header_of(after)) return order_problem::header_twice;
      if (is_deeper(header_of(before), header_of(after))) return order_problem::wrong_order;
    }
  }
  return order_problem::none;
}

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

[[gnu::cold]] void add_flow_problems(problem_list& problems, const ibv_qp* pair,
                                     const ibv_flow_attr* rule);

/// Explains why a flow could not be created.
[[gnu::cold]] void explain_flow(failure_description& description, const ibv_qp* pair,
                                const ibv_flow_attr* rule, const lowering_notes& notes);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/explain_flow.ipp>
#endif
