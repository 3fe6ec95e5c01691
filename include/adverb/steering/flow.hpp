// SPDX-License-Identifier: MIT
// Flows: active rules that steer packets to queue pairs.
#pragma once

#include <span>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/transport.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/fwd.hpp>
#include <adverb/steering/flow_rule.hpp>
#include <adverb/steering/flow_specification.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The operations on a flow, owned or referenced.
class flow_base : public handle_base<ibv_flow> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
};

}  // namespace detail

/// A reference to a flow that another object keeps alive. Costs no more than a pointer: pass it by
/// value.
class flow_ref : public detail::reference_to<detail::flow_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct flow_traits {
  using native_type = ibv_flow;
  static constexpr const char* destroy_verb = "ibv_destroy_flow";
  static int destroy(ibv_flow* flow) noexcept { return ibv_destroy_flow(flow); }
  static void list_parents(const ibv_flow* flow, parent_visitor& parents) noexcept {
    parents.add(flow->context);
    parents.add_noted_of(flow);
  }
  static void describe(const ibv_flow* flow, text_writer& writer) noexcept {
    put_device(writer, flow->context).put(" flow ").decimal(flow->handle);
  }
};

/// Returns the objects that must outlive a flow: its queue pair, and those that its actions use.
[[nodiscard]] noted_parents parents_of_flow(const ibv_qp* pair, const ibv_flow_attr* rule);

}  // namespace detail

/// The destination of a flow: a UD or raw packet queue pair, in any state. Converts from an owner,
/// a reference, or the C API pointer.
class flow_destination : public reference<ibv_qp> {
 public:
  flow_destination(ibv_qp* pair) noexcept : reference_to{pair} {}
  flow_destination(reference<ibv_qp> pair) noexcept : reference_to{pair} {}
  template <class Pair>
    requires requires { Pair::transport_of; }
  flow_destination(const Pair& pair) noexcept : reference_to{pair.native_handle()} {
    static_assert(
        Pair::transport_of == transport::ud || Pair::transport_of == transport::raw_packet,
        "packets can be steered only to UD and raw packet queue pairs");
  }
  /// A temporary owner cannot be referenced.
  template <std::derived_from<detail::handle_base<ibv_qp>> Pair>
    requires detail::owning<Pair>
  flow_destination(const Pair&&) = delete;
};

/// A flow: a rule in force until the flow is destroyed. The queue pair, the counters and the flow
/// actions of the rule must outlive it; the lifetime checker enforces this. Requires the capability
/// CAP_NET_RAW.
class [[nodiscard]] flow : public detail::owner<detail::flow_base, detail::flow_traits> {
 public:
  using owner::owner;

  /// Puts a rule in force. Wraps: ibv_create_flow(3).
  template <class... Specifications>
  flow(flow_destination pair, const flow_rule<Specifications...>& rule,
       on_failure policy = throwing{})
      : flow{make(policy, pair, rule.native(), rule.notes())} {}

  /// Puts a rule in force whose specifications are known only at run time. The program is
  /// responsible for their order; providers accept most orders. Wraps: ibv_create_flow(3).
  flow(flow_destination pair, const flow_options& options,
       std::span<const flow_specification> specifications, on_failure policy = throwing{})
      : flow{make_from_list(policy, pair, options, specifications)} {}

 private:
  static constexpr const char* verb = "ibv_create_flow";

  [[nodiscard]] static flow refused(on_failure policy, std::string_view why);

  [[nodiscard]] static flow make(on_failure policy, flow_destination pair,
                                 const ibv_flow_attr* rule, const detail::lowering_notes& notes);

  [[nodiscard]] static flow make_from_list(on_failure policy, flow_destination pair,
                                           const flow_options& options,
                                           std::span<const flow_specification> specifications);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/flow.ipp>
#endif
