// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <limits>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/device/context.hpp>
#include <adverb/steering/counters.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void counters_base::attach(counted what, std::uint32_t index, flow_ref flow,
                                       on_failure policy) const {
  if (detail::check_present(policy, attach_verb, flow.native_handle()))
    attach_to(flow.native_handle(), what, index, policy);
}

ADVERB_FUNC void counters_base::attach_to(ibv_flow* flow, counted what, std::uint32_t index,
                                          on_failure policy) const {
  if (!detail::check_present(policy, attach_verb, native_handle())) return;
  ibv_counter_attach_attr attributes{
      .counter_desc = static_cast<ibv_counter_description>(what), .index = index, .comp_mask = 0};
  const int result = ibv_attach_counters_point_flow(native_handle(), &attributes, flow);
  detail::check_returned(policy, attach_verb, result, [&](failure_description& description) {
    detail::on_object<detail::counters_traits>(native_handle())(description);
    description.explain([&](text_writer& writer) {
      if (detail::is_unsupported(description.code())) {
        writer.put("the device does not count the ").put(what).put(" of flows");
        if (flow != nullptr)
          writer.put(", or accepts this only before the flow is created: attach without a flow");
      } else if (is_code(description.code(), std::errc::device_or_resource_busy)) {
        writer.put("a flow already uses the counters: attach before the flow is created");
      }
    });
  });
}

ADVERB_FUNC void counters_base::read_with(std::uint32_t flags, std::span<std::uint64_t> values,
                                          on_failure policy) const {
  if (!detail::check_present(policy, read_verb, native_handle())) return;
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  const auto count = static_cast<std::uint32_t>(values.size() < most ? values.size() : most);
  const int result = ibv_read_counters(native_handle(), values.data(), count, flags);
  detail::check_returned(policy, read_verb, result, [&](failure_description& description) {
    detail::on_object<detail::counters_traits>(native_handle())(description);
    if (is_code(description.code(), std::errc::invalid_argument))
      description.explain(
          "there is room for {}; possible causes: the highest index in use is beyond it, or no "
          "flow "
          "uses the counters yet",
          {values.size()});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC counters::counters(context_ref context, on_failure policy)
    : owner{adverb::adopt, detail::make_object(
                               policy, "ibv_create_counters",
                               [&] {
                                 ibv_counters_init_attr native{.comp_mask = 0};
                                 return ibv_create_counters(context.native_handle(), &native);
                               },
                               detail::on_device(context.native_handle()), context)} {}

}  // namespace adverb::inline ADVERB_ABI
