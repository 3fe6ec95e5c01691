// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/detail/receive_blocks.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void receive_blocks::create(link& owner, async::operation::function* on_completion,
                                        ibv_qp* pair, protection_domain_ref domain,
                                        completion_queue_ref queue, std::uint32_t count,
                                        std::uint32_t size, on_failure policy) {
  reservation_ = completion_reservation{queue, count, policy};
  if (policy.failed()) return;
  memory_ = {domain, count, size, policy};
  if (policy.failed()) return;
  pair_ = pair;
  blocks_.reserve(count);
  for (std::uint32_t each = 0; each < count; ++each) {
    post(blocks_.emplace_back(on_completion, &owner, memory_[each])).check(policy);
    if (policy.failed()) return;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
