// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/completion/completion_queue_options.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC ibv_cq_ex* create_extended(context_ref context, std::size_t capacity,
                                       const completion_queue_options& options,
                                       completion_fields fields) noexcept {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = static_cast<std::uint32_t>(entries_of(capacity));
  attributes.cq_context = options.user_context;
  attributes.channel = options.channel.native_handle();
  attributes.comp_vector = options.vector;
  attributes.wc_flags = fields.bits();
  if (options.single_threaded) attributes.flags |= IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  if (options.ignore_overrun) attributes.flags |= IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if (attributes.flags != 0) attributes.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS;
  if (options.parent_domain) {
    attributes.parent_domain = options.parent_domain.native_handle();
    attributes.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD;
  }
  return ibv_create_cq_ex(context.native_handle(), &attributes);
}

}  // namespace adverb::inline ADVERB_ABI::detail
