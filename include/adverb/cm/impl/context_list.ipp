// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/context_list.hpp>
#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC context_list::context_list(on_failure policy) {
  int count = 0;
  contexts_ = detail::check_pointer(
      policy, "rdma_get_devices", [&] { return rdma_get_devices(&count); },
      [](failure_description& description) {
        description.explain([&](text_writer& writer) {
          detail::explain_event_channel(writer, description.code());
        });
      });
  size_ = static_cast<std::size_t>(count);
}

ADVERB_FUNC context_list& context_list::operator=(context_list&& other) noexcept {
  std::swap(contexts_, other.contexts_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace adverb::inline ADVERB_ABI::cm
