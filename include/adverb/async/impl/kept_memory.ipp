// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>

#include <adverb/async/detail/kept_memory.hpp>
#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/loop_devices.hpp>
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

ADVERB_FUNC std::uint64_t memory_keeper::note_idle(
    std::span<const std::unique_ptr<link>> links) const noexcept {
  std::uint64_t least = given_back_;
  for (const auto& each : links) {
    if (&each->device().memory != this) continue;
    if (!each->has_outstanding()) each->idle_at = given_back_;
    least = std::min(least, each->idle_at);
  }
  return least;
}

ADVERB_FUNC void memory_keeper::give_back(kept_memory& memory,
                                          std::span<const std::unique_ptr<link>> links) noexcept {
  memory.is_given_back = true;
  memory.given_back_at = ++given_back_;
  note_idle(links);
}

ADVERB_FUNC void memory_keeper::free(const kept_memory& memory) noexcept {
  std::erase_if(all_, [&](const auto& each) { return each.get() == &memory; });
}

ADVERB_FUNC bool memory_keeper::free_unused(std::span<const std::unique_ptr<link>> links) noexcept {
  const std::uint64_t idle_at = note_idle(links);
  bool is_any_left = false;
  std::erase_if(all_, [&](const auto& each) {
    if (!each->is_given_back) return false;
    const bool is_used = each->given_back_at > idle_at;
    is_any_left = is_any_left || is_used;
    return !is_used;
  });
  return !is_any_left;
}

}  // namespace adverb::inline ADVERB_ABI::detail
