// SPDX-License-Identifier: MIT
// The number of reserved entries of each completion queue.
#pragma once

#include <cstddef>

#include <adverb/core/detail/side_table.hpp>

struct ibv_cq;

namespace adverb::inline ADVERB_ABI::detail {

/// Counts the reserved entries of each queue. Thread safe. Terminates the program if there is no
/// memory for an entry of the table. The table is a list, because there are few queues.
class [[gnu::visibility("default")]] reserved_completions
    : public side_table<reserved_completions> {
 public:
  struct outcome {
    bool fits;
    /// Entries reserved by others.
    std::size_t reserved_before;
  };

  /// Reserves entries of a queue of `capacity` entries, if enough are left.
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

  /// Returns the link to the entry of a queue, or the place to insert one.
  [[nodiscard]] entry** place_of(const ibv_cq* queue) noexcept {
    entry** place = &first_;
    while (*place != nullptr && (*place)->queue != queue) place = &(*place)->next;
    return place;
  }

  entry* first_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail
