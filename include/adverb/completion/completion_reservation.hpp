// SPDX-License-Identifier: MIT
// Reserved entries of a completion queue that several users share.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <adverb/completion/completion_queue.hpp>

namespace adverb::inline ADVERB_ABI {

/// Reserves entries of a completion queue for one of its users, so that it never overflows. A user
/// that may have n requests in progress reserves n entries. Send windows do so by themselves;
/// programs do so for their receives:
///
///     const completion_reservation for_receives{queue, 64};
///
/// It only counts: posting and polling check nothing. The count covers all reservations of a queue
/// in the whole program. The queue must outlive it. Any thread can create and destroy it.
class [[nodiscard]] completion_reservation {
 public:
  /// Constructs an empty reservation, without a queue.
  completion_reservation() noexcept = default;

  /// Reserves entries. Fails with ENOBUFS if the current capacity of the queue has too few left.
  completion_reservation(completion_queue_ref queue, std::size_t entries,
                         on_failure policy = throwing{})
      : completion_reservation{queue, entries, "completion_reservation", policy} {}

  completion_reservation(completion_reservation&& other) noexcept
      : queue_{std::exchange(other.queue_, nullptr)}, entries_{std::exchange(other.entries_, 0)} {}
  completion_reservation& operator=(completion_reservation&& other) noexcept;
  ~completion_reservation() { give_back(); }

  [[nodiscard]] explicit operator bool() const noexcept { return queue_ != nullptr; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

 private:
  template <class Engine>
  friend class send_window;

  /// Reserves entries for `verb`, whose name a failure carries.
  completion_reservation(completion_queue_ref queue, std::size_t entries, std::string_view verb,
                         on_failure policy);

  void give_back() noexcept;

  ibv_cq* queue_ = nullptr;
  std::size_t entries_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_reservation.ipp>
#endif
