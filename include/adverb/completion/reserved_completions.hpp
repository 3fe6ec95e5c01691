// SPDX-License-Identifier: MIT
// How many entries of each completion queue are spoken for.
#pragma once

#include <cstddef>
#include <unordered_map>

#include <adverb/core/side_table.hpp>

struct ibv_cq;

namespace adverb::inline ADVERB_ABI::detail {

/// The entries that reservations hold, by queue. Thread safe. Running out of memory for an entry of
/// the table ends the program.
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
    const auto found = entries_.find(queue);
    const std::size_t before = found == entries_.end() ? 0 : found->second;
    const bool fits = before <= capacity && entries <= capacity - before;
    if (fits && entries != 0) entries_[queue] = before + entries;
    return {fits, before};
  }

  void remove(const ibv_cq* queue, std::size_t entries) noexcept {
    const lock guard{*this};
    const auto found = entries_.find(queue);
    if (found == entries_.end()) return;
    if (found->second <= entries)
      entries_.erase(found);
    else
      found->second -= entries;
  }

  [[nodiscard]] std::size_t of(const ibv_cq* queue) noexcept {
    const lock guard{*this};
    const auto found = entries_.find(queue);
    return found == entries_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<const ibv_cq*, std::size_t> entries_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
