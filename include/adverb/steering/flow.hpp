// SPDX-License-Identifier: MIT
// Flows: active rules that steer packets to queue pairs.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/fwd.hpp>
#include <adverb/queue/detail/queue_traits.hpp>
#include <adverb/steering/detail/explain_flow.hpp>
#include <adverb/steering/flow_rule.hpp>
#include <adverb/steering/flow_specification.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The operations on a flow, owned or referenced.
class flow_base : public handle_base<ibv_flow> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
};

}  // namespace detail

/// A reference to a flow that another object keeps alive. As cheap as a pointer; pass it by value.
class flow_ref : public detail::reference_to<detail::flow_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct flow_traits {
  using native_type = ibv_flow;
  static constexpr std::string_view destroy_verb = "ibv_destroy_flow";
  static int destroy(ibv_flow* flow) noexcept { return ibv_destroy_flow(flow); }
  template <class Function>
  static void for_each_parent(const ibv_flow* flow, const Function& function) noexcept {
    function(flow->context);
    for (const void* parent : lifetime_registry::instance().noted_parents_of(flow))
      function(parent);
  }
  static void describe(const ibv_flow* flow, text_writer& writer) noexcept {
    put_device(writer, flow->context).put(" flow ").decimal(flow->handle);
  }
};

/// Returns the objects that must outlive a flow: its queue pair, and those that its actions use.
[[nodiscard]] inline std::vector<const void*> parents_of_flow(const ibv_qp* pair,
                                                              const ibv_flow_attr* rule) {
  std::vector<const void*> parents{pair};
  for_each_specification(rule, [&](unsigned type, const std::byte* bytes) {
    if (type == IBV_FLOW_SPEC_ACTION_HANDLE) {
      ibv_flow_spec_action_handle action;
      std::memcpy(&action, bytes, sizeof action);
      parents.push_back(action.action);
    } else if (type == IBV_FLOW_SPEC_ACTION_COUNT) {
      ibv_flow_spec_counter_action action;
      std::memcpy(&action, bytes, sizeof action);
      parents.push_back(action.counters);
    }
  });
  return parents;
}

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
        "packets are steered to UD and raw packet queue pairs");
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
  static constexpr std::string_view verb = "ibv_create_flow";

  [[nodiscard]] static flow refused(on_failure policy, std::string_view why) {
    policy.report(EINVAL, verb,
                  [&](failure_description& description) { description.explain(why); });
    return {};
  }

  [[nodiscard]] static flow make(on_failure policy, flow_destination pair,
                                 const ibv_flow_attr* rule, const detail::lowering_notes& notes) {
    if (const auto problem = detail::range_problem(notes); !problem.view().empty())
      return refused(policy, problem);
    if (!detail::check_present(policy, verb, pair.native_handle())) return {};
    const std::vector<const void*> parents = detail::parents_of_flow(pair.native_handle(), rule);
    for (const void* parent : parents)
      if (parent == nullptr)
        return refused(policy,
                       "an action of the rule names counters or a flow action that are empty: "
                       "moved from, closed, or never made");
    return detail::make_handle<flow>(
        policy, verb,
        [&] {
          // The C function does not modify it.
          return detail::with_parents_of(
              ibv_create_flow(pair.native_handle(), const_cast<ibv_flow_attr*>(rule)), parents);
        },
        [&](failure_description& description) {
          detail::on_object<detail::queue_pair_traits>(pair.native_handle())(description);
          detail::explain_flow(description, pair.native_handle(), rule, notes);
        });
  }

  [[nodiscard]] static flow make_from_list(on_failure policy, flow_destination pair,
                                           const flow_options& options,
                                           std::span<const flow_specification> specifications) {
    if (specifications.size() > 255)
      return refused(policy, "a rule has at most 255 specifications");
    detail::lowering_notes notes;
    std::vector<std::byte> bytes(sizeof(ibv_flow_attr));
    for (const flow_specification& each : specifications) {
      bytes.insert(bytes.end(), each.bytes().begin(), each.bytes().end());
      if (notes.too_large.empty()) {
        const bool partial = notes.partial;
        notes = each.notes();
        notes.partial |= partial;
      }
    }
    const ibv_flow_attr head = detail::native_flow(options, bytes.size(), specifications.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    return make(policy, pair, reinterpret_cast<const ibv_flow_attr*>(bytes.data()), notes);
  }
};

}  // namespace adverb::inline ADVERB_ABI
