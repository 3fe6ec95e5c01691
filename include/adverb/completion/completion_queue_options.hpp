// SPDX-License-Identifier: MIT
// The options for creating a completion queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_channel.hpp>
#include <adverb/completion/completion_field.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options for creating a classic or extended completion queue. The last three require a
/// provider with extended completion queues, even for a classic queue.
struct completion_queue_options {
  /// Channel for its events; none if the queue is only polled.
  completion_channel_ref channel{};
  /// Completion vector (interrupt), less than `context.completion_vectors()`.
  std::uint32_t vector = 0;
  /// Returned by `user_context()`.
  void* user_context = nullptr;
  /// Promises that only one thread at a time polls, so that the provider needs no lock.
  bool single_threaded = false;
  /// An overflow overwrites completions instead of losing the queue with all its queue pairs.
  bool ignore_overrun = false;
  /// Parent domain, whose thread domain or allocators the queue uses. It must outlive the queue.
  /// The lifetime checker does not verify this, because the C struct does not name it.
  protection_domain_ref parent_domain{};
};

namespace detail {

/// Clamps to the range of int. A capacity beyond it exceeds every device and is refused as such.
[[nodiscard]] constexpr int entries_of(std::size_t capacity) noexcept {
  return capacity > std::numeric_limits<int>::max() ? std::numeric_limits<int>::max()
                                                    : static_cast<int>(capacity);
}

/// Returns true if only ibv_create_cq_ex can create such a queue.
[[nodiscard]] inline bool need_extended_creation(const completion_queue_options& options) noexcept {
  return options.single_threaded || options.ignore_overrun || options.parent_domain;
}

[[nodiscard]] ibv_cq_ex* create_extended(context_ref context, std::size_t capacity,
                                         const completion_queue_options& options,
                                         completion_fields fields) noexcept;

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_queue_options.ipp>
#endif
