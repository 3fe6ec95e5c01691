// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <limits>
#include <system_error>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/device/context.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <adverb/steering/detail/explain_flow.hpp>
#include <adverb/steering/flow_options.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void add_flow_problems(problem_list& problems, const ibv_qp* pair,
                                   const ibv_flow_attr* rule) {
  if (pair->qp_type != IBV_QPT_UD && pair->qp_type != IBV_QPT_RAW_PACKET)
    problems.add("flows steer packets to UD and raw packet pairs, this pair is {}",
                 {static_cast<transport>(pair->qp_type)});
  std::error_code unknown;
  const device_attributes device = context_ref{pair->context}.query_device(unknown);
  if (!unknown && (rule->port == 0 || rule->port > device.physical_ports()))
    problems.add("port {} is out of range: the device has {}, numbered from 1",
                 {rule->port, device.physical_ports()});
  if (rule->num_of_specs > max_flow_specifications)
    problems.add("{} specifications exceed the limit of Linux, {}",
                 {rule->num_of_specs, max_flow_specifications});
  if ((rule->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0 && rule->type != IBV_FLOW_ATTR_NORMAL)
    problems.add("do_not_trap requires a normal rule, this one is of type {}",
                 {static_cast<flow_type>(rule->type)});
  std::array<unsigned, std::numeric_limits<decltype(rule->num_of_specs)>::max()> types;
  std::size_t count = 0;
  for_each_specification(rule, [&](unsigned type, const std::byte* bytes) {
    types[count++] = type;
    if (type != IBV_FLOW_SPEC_ACTION_TAG) return;
    ibv_flow_spec_action_tag action;
    std::memcpy(&action, bytes, sizeof action);
    if (action.tag_id >= 1U << 24)
      problems.add([&](text_writer& writer) {
        writer.put("tag 0x").hexadecimal(action.tag_id).put(" has more than the 24 bits that ");
        writer.put("devices store");
      });
  });
  problems.add(sentence_of(order_problem_of(types.data(), count)));
}

ADVERB_FUNC void explain_flow(failure_description& description, const ibv_qp* pair,
                              const ibv_flow_attr* rule, const lowering_notes& notes) {
  const std::error_code& code = description.code();
  description.explain([&](text_writer& writer) {
    if (is_code(code, std::errc::operation_not_permitted)) {
      writer.put("steering packets needs the capability CAP_NET_RAW");
      return;
    }
    if (is_code(code, std::errc::no_such_device_or_address)) {
      writer.put("possible causes: the device currently steers no flows, or none of this kind");
      return;
    }
    std::error_code unknown;
    const bool steers = context_ref{pair->context}.query_device(unknown).capabilities().contains(
        device_capability::flow_steering);
    if (is_unsupported(code)) {
      // Another function explains a device without flow steering.
      if (steers)
        writer.put("the device steers flows, but lacks one of these matches, actions or flags");
      return;
    }
    if (!is_code(code, std::errc::invalid_argument)) return;
    problem_list problems{writer};
    add_flow_problems(problems, pair, rule);
    if (problems.empty() && notes.partial)
      problems.add("the rule compares part of a field; most devices compare whole fields only");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
