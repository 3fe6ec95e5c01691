// SPDX-License-Identifier: MIT
// How many entries of each completion queue are spoken for.
#pragma once

#include <cstddef>

#include <adverb/core/detail/side_table.hpp>

struct ibv_cq;

namespace adverb::inline ADVERB_ABI::detail {

/// The entries that reservations hold, by queue. Thread safe. Running out of memory for an entry of
/// the table ends the program. A list: queues are few.
class [[gnu::visibility("default")]] reserved_completions
    : public side_table<reserved_completions> {
 public:
  struct outcome {
    bool fits;
    /// By others.
    std::size_t reserved_before;
  };

  /// Reserves entries of a queue that has `capacity` now, if that many are left.
  outcome add(const ibv_cq* queue, std::size_t entries, std::size_t capacity) noexcept {
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

  void remove(const ibv_cq* queue, std::size_t entries) noexcept {
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

  [[nodiscard]] std::size_t of(const ibv_cq* queue) noexcept {
    const lock guard{*this};
    const entry* const found = *place_of(queue);
    return found == nullptr ? 0 : found->entries;
  }

 private:
  struct entry {
    const ibv_cq* queue;
    std::size_t entries;
    entry* next;
  };

  /// Where the entry of a queue is linked in, or is to be.
  [[nodiscard]] entry** place_of(const ibv_cq* queue) noexcept {
    entry** place = &first_;
    while (*place != nullptr && (*place)->queue != queue) place = &(*place)->next;
    return place;
  }

  entry* first_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail
