// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include <adverb/request/detail/queue_traits.hpp>
#include <adverb/steering/detail/explain_flow.hpp>
#include <adverb/steering/flow.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC noted_parents parents_of_flow(const ibv_qp* pair, const ibv_flow_attr* rule) {
  noted_parents parents{pair};
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

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC flow flow::refused(on_failure policy, std::string_view why) {
  policy.report(EINVAL, verb, [&](failure_description& description) { description.explain(why); });
  return {};
}

ADVERB_FUNC flow flow::make(on_failure policy, flow_destination pair, const ibv_flow_attr* rule,
                            const detail::lowering_notes& notes) {
  if (const auto problem = detail::range_problem(notes); !problem.view().empty())
    return refused(policy, problem);
  if (!detail::check_present(policy, verb, pair.native_handle())) return {};
  const detail::noted_parents parents = detail::parents_of_flow(pair.native_handle(), rule);
  for (const void* parent : parents)
    if (parent == nullptr)
      return refused(policy,
                     "an action of the rule has empty counters or an empty flow action: moved "
                     "from, closed, or never created");
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

ADVERB_FUNC flow flow::make_from_list(on_failure policy, flow_destination pair,
                                      const flow_options& options,
                                      std::span<const flow_specification> specifications) {
  if (specifications.size() > 255) return refused(policy, "a rule has at most 255 specifications");
  detail::lowering_notes notes;
  std::size_t size = sizeof(ibv_flow_attr);
  for (const flow_specification& each : specifications) size += each.bytes().size();
  std::vector<std::byte> bytes(size);
  std::byte* end = bytes.data() + sizeof(ibv_flow_attr);
  for (const flow_specification& each : specifications) {
    std::memcpy(end, each.bytes().data(), each.bytes().size());
    end += each.bytes().size();
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

}  // namespace adverb::inline ADVERB_ABI
