// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/detail/shared_receives.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC shared_receives::shared_receives(protection_domain_ref domain,
                                             completion_queue_ref completions, std::uint32_t count,
                                             std::uint32_t size, on_failure policy)
    : loans_{std::make_shared<receive_loans>(count)}, memory_{domain, count, size, policy} {
  if (policy.failed()) return;
  reservation_ = completion_reservation{completions, count, policy};
  if (policy.failed()) return;
  queue_ = shared_receive_queue{domain, {.max_wr = count}, policy};
  if (policy.failed()) return;
  blocks_.reserve(count);
  for (std::uint32_t each = 0; each < count; ++each) {
    post(blocks_.emplace_back(*this, memory_[each])).check(policy);
    if (policy.failed()) return;
  }
}

ADVERB_FUNC void shared_receives::complete(async::operation& which, const completion& each) {
  auto& block = static_cast<shared_block&>(which);
  shared_receives& pool = *block.pool;
  const auto found = pool.links_.find(static_cast<std::uint32_t>(each.queue_pair()));
  const bool succeeded = each.status() == completion_status::success;
  if (found != pool.links_.end() && succeeded) [[likely]] {
    block.owner = found->second;
    ++pool.held_;
    return block.owner->arrive(block, each);
  }
  static_cast<void>(pool.post(block));
  if (found != pool.links_.end()) found->second->note_failure(each, &block);
}

}  // namespace adverb::inline ADVERB_ABI::detail
