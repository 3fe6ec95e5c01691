// SPDX-License-Identifier: MIT
// Reserved entries of a completion queue that several users share.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/detail/reserved_completions.hpp>

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
  completion_reservation& operator=(completion_reservation&& other) noexcept {
    if (this != &other) {
      give_back();
      queue_ = std::exchange(other.queue_, nullptr);
      entries_ = std::exchange(other.entries_, 0);
    }
    return *this;
  }
  ~completion_reservation() { give_back(); }

  [[nodiscard]] explicit operator bool() const noexcept { return queue_ != nullptr; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

 private:
  template <class Engine>
  friend class send_window;

  /// Reserves entries for `verb`, whose name a failure carries.
  completion_reservation(completion_queue_ref queue, std::size_t entries, std::string_view verb,
                         on_failure policy) {
    if (!detail::check_present(policy, verb, queue.native_handle())) return;
    const std::size_t capacity = queue.capacity();
    const auto [fits, reserved] =
        detail::reserved_completions::instance().add(queue.native_handle(), entries, capacity);
    const auto explain = [&, before = reserved](failure_description& description) {
      detail::on_object<detail::completion_queue_traits>(queue.native_handle())(description);
      description.explain([&](text_writer& writer) {
        writer.decimal(entries).put(entries == 1 ? " entry does" : " entries do");
        writer.put(" not fit: ").decimal(before).put(" of ").decimal(capacity);
        writer.put(" are reserved");
      });
    };
    if (!detail::check_returned(policy, verb, fits ? 0 : ENOBUFS, explain)) return;
    queue_ = queue.native_handle();
    entries_ = entries;
    detail::lifetime_registry::instance().add_child(queue_, object_kind::completion_reservation);
  }

  void give_back() noexcept {
    if (queue_ == nullptr) return;
    // In this order: without a child the queue can be destroyed, and its address be reused.
    detail::reserved_completions::instance().remove(queue_, entries_);
    detail::lifetime_registry::instance().remove_child(queue_, object_kind::completion_reservation);
  }

  ibv_cq* queue_ = nullptr;
  std::size_t entries_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI
