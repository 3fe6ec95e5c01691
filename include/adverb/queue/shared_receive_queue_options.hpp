// SPDX-License-Identifier: MIT
// What shared receive queues are made with, and what they say of themselves.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a shared receive queue is made with.
struct shared_receive_queue_options {
  /// How many receives it holds, at least.
  std::uint32_t max_wr = 1;
  /// How many elements each receive may have, at least.
  std::uint32_t max_sge = 1;
  /// Handed back by `user_context()`.
  void* user_context = nullptr;

  /// The limit is not part of it: creating ignores it, and it means nothing before receives are
  /// posted. There is `set_limit`.
  [[nodiscard]] ibv_srq_attr native() const noexcept {
    return {.max_wr = max_wr, .max_sge = max_sge, .srq_limit = 0};
  }
};

/// The size and the limit of a shared receive queue: made by `queue.query()`.
class shared_receive_queue_attributes {
 public:
  shared_receive_queue_attributes() noexcept = default;
  explicit shared_receive_queue_attributes(const ibv_srq_attr& native) noexcept : native_{native} {}

  /// How many receives it holds.
  [[nodiscard]] std::uint32_t max_wr() const noexcept { return native_.max_wr; }
  /// How many elements each receive may have.
  [[nodiscard]] std::uint32_t max_sge() const noexcept { return native_.max_sge; }
  /// Fewer receives than this give an event; 0 when none was asked for, or it was given.
  [[nodiscard]] std::uint32_t limit() const noexcept { return native_.srq_limit; }

  [[nodiscard]] const ibv_srq_attr& native() const noexcept { return native_; }

 private:
  ibv_srq_attr native_{};
};

}  // namespace adverb::inline ADVERB_ABI
