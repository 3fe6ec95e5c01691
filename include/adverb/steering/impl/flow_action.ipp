// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <adverb/device/context.hpp>
#include <adverb/steering/flow_action.hpp>
#include <adverb/steering/impl/esp.ipp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool check_tunnel_headers(on_failure policy, const char* verb,
                                      const esp_changes& asked) {
  if (!asked.attributes || !asked.attributes->full_offload) return true;
  for (const flow_specification& header : asked.attributes->full_offload->tunnel_headers) {
    const auto out_of_range = range_problem(header.notes());
    const std::string_view problem = header.values().empty()
                                         ? "a header around ESP is a match, not an action"
                                         : out_of_range.view();
    if (problem.empty()) continue;
    policy.report(EINVAL, verb,
                  [&](failure_description& description) { description.explain(problem); });
    return false;
  }
  return true;
}

ADVERB_FUNC void explain_esp(failure_description& description, const esp_changes& asked) {
  if (!is_code(description.code(), std::errc::invalid_argument)) return;
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    const std::uint32_t length = asked.integrity_check_length;
    if (asked.key && length != 8 && length != 12 && length != 16)
      problems.add("integrity_check_length is {}: it must be 8, 12 or 16", {length});
    if (!asked.attributes) return;
    const esp_attributes& attributes = *asked.attributes;
    const bool full = attributes.full_offload.has_value();
    if (attributes.new_sequence_window && !asked.extended_sequence_number)
      problems.add("new_sequence_window requires an extended_sequence_number");
    if (attributes.new_sequence_window && full)
      problems.add("new_sequence_window is for inline crypto, not for full offload");
    if (full &&
        (attributes.mode == esp_mode::tunnel) == attributes.full_offload->tunnel_headers.empty())
      problems.add(attributes.mode == esp_mode::tunnel
                       ? "full offload in tunnel mode needs tunnel_headers"
                       : "tunnel_headers are for tunnel mode");
  });
}

ADVERB_FUNC void flow_action_base::modify(const esp_changes& changes, on_failure policy) const {
  constexpr const char* verb = "ibv_modify_flow_action_esp";
  if (!detail::check_present(policy, verb, native_handle()) ||
      !detail::check_tunnel_headers(policy, verb, changes))
    return;
  detail::native_esp native{changes};
  const int result = ibv_modify_flow_action_esp(native_handle(), native.get());
  detail::check_returned(policy, verb, result, [&](failure_description& description) {
    detail::on_object<detail::flow_action_traits>(native_handle())(description);
    detail::explain_esp(description, changes);
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC flow_action flow_action::make(context_ref context, const esp_changes& asked,
                                          on_failure policy) {
  constexpr const char* verb = "ibv_create_flow_action_esp";
  if (!detail::check_tunnel_headers(policy, verb, asked)) return {};
  detail::native_esp native{asked};
  return detail::make_handle<flow_action>(
      policy, verb,
      [&] { return ibv_create_flow_action_esp(context.native_handle(), native.get()); },
      [&](failure_description& description) {
        detail::on_device(context.native_handle())(description);
        detail::explain_esp(description, asked);
      },
      context);
}

}  // namespace adverb::inline ADVERB_ABI
