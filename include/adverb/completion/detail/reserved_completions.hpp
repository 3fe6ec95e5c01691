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
  outcome add(const ibv_cq* queue, std::size_t entries, std::size_t capacity) noexcept;

  void remove(const ibv_cq* queue, std::size_t entries) noexcept;

  [[nodiscard]] std::size_t of(const ibv_cq* queue) noexcept;

 private:
  struct entry {
    const ibv_cq* queue;
    std::size_t entries;
    entry* next;
  };

  /// Returns the link to the entry of a queue, or the place to insert one.
  [[nodiscard]] entry** place_of(const ibv_cq* queue) noexcept;

  entry* first_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/reserved_completions.ipp>
#endif
