// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/core/detail/deadline.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC void event_channel_base::set_non_blocking(bool non_blocking, on_failure policy) const {
  if (!detail::check_present(policy, "fcntl", native_handle())) return;
  detail::set_non_blocking(policy, file_descriptor(), non_blocking,
                           detail::on_object<detail::event_channel_traits>(native_handle()));
}

ADVERB_FUNC event_channel event_channel::create(on_failure policy) {
  return event_channel{
      adopt, detail::check_pointer(
                 policy, "rdma_create_event_channel", [] { return rdma_create_event_channel(); },
                 [](failure_description& description) {
                   description.explain(&detail::explain_event_channel);
                 })};
}

}  // namespace adverb::inline ADVERB_ABI::cm
