// SPDX-License-Identifier: MIT
// Flow rules: matches and actions, laid out for the C API.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include <adverb/steering/detail/explain_flow.hpp>
#include <adverb/steering/detail/specification.hpp>
#include <adverb/steering/flow_options.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

[[nodiscard]] inline ibv_flow_attr native_flow(const flow_options& options, std::size_t size,
                                               std::size_t specifications) noexcept {
  return {.comp_mask = 0,
          .type = static_cast<ibv_flow_attr_type>(options.type),
          .size = static_cast<std::uint16_t>(size),
          .priority = options.priority,
          .num_of_specs = static_cast<std::uint8_t>(specifications),
          .port = static_cast<std::uint8_t>(options.port),
          .flags = options.flags.bits()};
}

/// Checks the order of specifications, with a message for each error.
template <class... Specifications>
consteval bool check_order() noexcept {
  // One more element, so that the array is not empty.
  constexpr std::array<unsigned, sizeof...(Specifications) + 1> types{
      lowering<Specifications>::type...};
  constexpr order_problem problem = order_problem_of(types.data(), sizeof...(Specifications));
  static_assert(
      problem != order_problem::header_twice,
      "a rule names each header once: match headers inside a tunnel with match_inner{...}");
  static_assert(problem != order_problem::wrong_order,
                "a rule names headers in the order of the packet: Ethernet, IP, then ESP, TCP or "
                "UDP, then the tunnel");
  static_assert(problem != order_problem::outer_after_inner,
                "headers inside a tunnel must follow the outer headers");
  static_assert(problem != order_problem::action_twice,
                "a rule has at most one action_tag and one action_drop");
  static_assert(sizeof...(Specifications) <= 255, "a rule has at most 255 specifications");
  return true;
}

/// True for a match inside a tunnel that is itself a tunnel.
template <class Specification>
inline constexpr bool is_inner_tunnel = is_inner(lowering<Specification>::type) &&
                                        header_of(lowering<Specification>::type) == header::tunnel;

/// Returns the size of a rule in the C API, in bytes.
template <class... Specifications>
consteval std::size_t size_of_rule() noexcept {
  if constexpr ((flow_specification_type<Specifications> && ...))
    return (sizeof(ibv_flow_attr) + ... + sizeof(typename lowering<Specifications>::native_type));
  else
    return sizeof(ibv_flow_attr);
}

}  // namespace detail

/// A rule composed of specifications by value, laid out in place without padding, as libibverbs
/// reads it. Any number of flows can use it.
///
///     const flow_rule rule{{.priority = 1, .port = port},
///                          match_ethernet{.destination = mac},
///                          match_ipv4{.source = subnet(ipv4_address{10, 0, 0, 0}, 8)},
///                          match_udp{.destination_port = 4791}, action_tag{42}};
///     const flow steered{pair, rule};
template <class... Specifications>
class flow_rule {
 public:
  /// Makes a rule of its matches, in the order of the headers, and its actions.
  explicit flow_rule(const flow_options& options,
                     const Specifications&... specifications) noexcept {
    constexpr bool all_known = (detail::flow_specification_type<Specifications> && ...);
    static_assert(all_known,
                  "a rule is made of matches and actions: match_ethernet{...}, "
                  "action_tag{...}, ...");
    if constexpr (all_known) {
      static_assert((!detail::is_inner_tunnel<Specifications> && ...),
                    "a rule cannot match a tunnel inside another tunnel");
      static_assert(detail::check_order<Specifications...>());
      std::size_t end = 0;
      const auto append = [&](const auto& native) {
        std::memcpy(bytes_.data() + end, &native, sizeof native);
        end += sizeof native;
      };
      append(detail::native_flow(options, size, sizeof...(Specifications)));
      (append(detail::lower(specifications, notes_)), ...);
    }
  }

  /// Returns the C API rule.
  [[nodiscard]] const ibv_flow_attr* native() const noexcept {
    return reinterpret_cast<const ibv_flow_attr*>(bytes_.data());
  }
  /// For explanations: the values that were cut off.
  [[nodiscard]] const detail::lowering_notes& notes() const noexcept { return notes_; }

 private:
  static constexpr std::size_t size = detail::size_of_rule<Specifications...>();

  alignas(ibv_flow_attr) std::array<std::byte, size> bytes_;
  detail::lowering_notes notes_;
};
template <class... Specifications>
flow_rule(flow_options, Specifications...) -> flow_rule<Specifications...>;

}  // namespace adverb::inline ADVERB_ABI
