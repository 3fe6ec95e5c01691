// SPDX-License-Identifier: MIT
// The options and attributes of shared receive queues.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options for creating a shared receive queue.
struct shared_receive_queue_options {
  /// Minimum number of receives that it holds.
  std::uint32_t max_wr = 1;
  /// Minimum number of scatter/gather elements per receive.
  std::uint32_t max_sge = 1;
  /// Returned by `user_context()`.
  void* user_context = nullptr;

  /// Returns the attributes for creation, without a limit: creation ignores it, and it has no
  /// meaning before receives are posted. See `set_limit`.
  [[nodiscard]] ibv_srq_attr native() const noexcept {
    return {.max_wr = max_wr, .max_sge = max_sge, .srq_limit = 0};
  }
};

/// The size and the limit of a shared receive queue, returned by `queue.query()`.
class shared_receive_queue_attributes {
 public:
  shared_receive_queue_attributes() noexcept = default;
  /// Copies the C API struct.
  explicit shared_receive_queue_attributes(const ibv_srq_attr& native) noexcept : native_{native} {}

  /// Returns the number of receives that it holds.
  [[nodiscard]] std::uint32_t max_wr() const noexcept { return native_.max_wr; }
  /// Returns the maximum number of scatter/gather elements per receive.
  [[nodiscard]] std::uint32_t max_sge() const noexcept { return native_.max_sge; }
  /// Returns the limit below which an event occurs; 0 if none is requested, or after the event.
  [[nodiscard]] std::uint32_t limit() const noexcept { return native_.srq_limit; }

  [[nodiscard]] const ibv_srq_attr& native() const noexcept { return native_; }

 private:
  ibv_srq_attr native_{};
};

}  // namespace adverb::inline ADVERB_ABI
