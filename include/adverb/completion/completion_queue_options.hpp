// SPDX-License-Identifier: MIT
// The options for creating a completion queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_channel.hpp>
#include <adverb/completion/completion_field.hpp>
#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/core/failure.hpp>
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

namespace adverb::inline ADVERB_ABI::detail {

/// Explains an invalid number of entries.
[[gnu::cold]] void add_capacity_problems(problem_list& problems, context_ref context,
                                         std::size_t capacity);

/// Adds the fields that the device reports as unsupported.
[[gnu::cold]] void add_missing_fields(problem_list& problems, context_ref context,
                                      completion_fields fields);

/// Explains invalid arguments for creating a queue of either engine.
[[gnu::cold]] void add_creation_problems(problem_list& problems, context_ref context,
                                         std::size_t capacity,
                                         const completion_queue_options& options);

/// Returns a function that names the device and explains why a queue could not be created.
[[nodiscard]] inline auto explaining_creation(context_ref context, std::size_t capacity,
                                              const completion_queue_options& options) noexcept {
  return [=](failure_description& description) {
    on_device(context.native_handle())(description);
    description.explain([&](text_writer& writer) {
      problem_list problems{writer};
      add_creation_problems(problems, context, capacity, options);
    });
  };
}

/// Does the same for an extended queue, and names the alternative if the device has none.
[[nodiscard]] inline auto explaining_creation(context_ref context, std::size_t capacity,
                                              const completion_queue_options& options,
                                              completion_fields fields) noexcept {
  return [=](failure_description& description) {
    on_device(context.native_handle())(description);
    description.explain([&](text_writer& writer) {
      problem_list problems{writer};
      add_creation_problems(problems, context, capacity, options);
      if (fields != standard_completion_fields) add_missing_fields(problems, context, fields);
      if (!is_unsupported(description.code())) return;
      if (problems.empty())
        problems.add("{} has no {}",
                     {context.native_handle()->device->name, feature_of("ibv_create_cq_ex")});
      problems.add("use completion_queue, or let either_completion_queue choose");
    });
  };
}

/// Explains why a queue of `current` entries cannot be resized.
[[gnu::cold]] void explain_resize(text_writer& writer, context_ref context, std::size_t current,
                                  std::size_t capacity);

/// Explains why a queue cannot become smaller than its reservations.
[[gnu::cold]] void explain_reserved(failure_description& description, std::size_t reserved);

/// Explains invalid moderation values, by the limits of the device.
[[gnu::cold]] void explain_moderation(text_writer& writer, context_ref context,
                                      std::uint32_t completions, std::uint32_t microseconds);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_queue_options.ipp>
#endif
