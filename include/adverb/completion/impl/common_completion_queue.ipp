// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/completion/detail/common_completion_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC reserved_completions::outcome reserved_completions::add(const ibv_cq* queue,
                                                                    std::size_t entries,
                                                                    std::size_t capacity) noexcept {
  const lock guard{*this};
  entry** const place = place_of(queue);
  const std::size_t before = *place == nullptr ? 0 : (*place)->entries;
  const bool fits = before <= capacity && entries <= capacity - before;
  if (fits && entries != 0) {
    if (*place == nullptr) *place = new entry{queue, 0, nullptr};
    (*place)->entries += entries;
  }
  return {fits, before};
}

ADVERB_FUNC void reserved_completions::remove(const ibv_cq* queue, std::size_t entries) noexcept {
  const lock guard{*this};
  entry** const place = place_of(queue);
  entry* const found = *place;
  if (found == nullptr) return;
  if (found->entries > entries) {
    found->entries -= entries;
    return;
  }
  *place = found->next;
  delete found;
}

ADVERB_FUNC std::size_t reserved_completions::of(const ibv_cq* queue) noexcept {
  const lock guard{*this};
  const entry* const found = *place_of(queue);
  return found == nullptr ? 0 : found->entries;
}

ADVERB_FUNC reserved_completions::entry** reserved_completions::place_of(
    const ibv_cq* queue) noexcept {
  entry** place = &first_;
  while (*place != nullptr && (*place)->queue != queue) place = &(*place)->next;
  return place;
}

}  // namespace adverb::inline ADVERB_ABI::detail
