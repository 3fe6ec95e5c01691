// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <adverb/async/detail/kept_memory.hpp>
#include <adverb/async/detail/link.hpp>
#include <adverb/core/detail/hardening.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC memory_keeper::~memory_keeper() {
  for (const auto& each : all_)
    require(each->is_given_back, "async::device_loop",
            "memory of the loop outlives it: declare async::loop_memory after the loop");
}

ADVERB_FUNC kept_memory* memory_keeper::add(protection_domain_ref domain, std::size_t size,
                                            access_rights rights, on_failure policy) {
  auto made = std::make_unique<kept_memory>(domain, size, rights, policy);
  if (policy.failed()) return nullptr;
  all_.push_back(std::move(made));
  return all_.back().get();
}

ADVERB_FUNC bool memory_keeper::free_unused() noexcept {
  bool is_any_left = false;
  std::erase_if(all_, [&](const auto& each) {
    if (!each->is_given_back) return false;
    std::erase_if(each->users, [](const link* user) { return !user->has_outstanding(); });
    is_any_left = is_any_left || !each->users.empty();
    return each->users.empty();
  });
  return !is_any_left;
}

ADVERB_FUNC void memory_keeper::forget(const link& which) noexcept {
  for (const auto& each : all_) std::erase(each->users, &which);
}

}  // namespace adverb::inline ADVERB_ABI::detail
