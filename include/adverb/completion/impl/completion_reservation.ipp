// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/completion/completion_reservation.hpp>
#include <adverb/completion/detail/reserved_completions.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC completion_reservation& completion_reservation::operator=(
    completion_reservation&& other) noexcept {
  if (this != &other) {
    give_back();
    queue_ = std::exchange(other.queue_, nullptr);
    entries_ = std::exchange(other.entries_, 0);
  }
  return *this;
}

ADVERB_FUNC completion_reservation::completion_reservation(completion_queue_ref queue,
                                                           std::size_t entries,
                                                           std::string_view verb,
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

ADVERB_FUNC void completion_reservation::give_back() noexcept {
  if (queue_ == nullptr) return;
  // In this order: without a child the queue can be destroyed, and its address be reused.
  detail::reserved_completions::instance().remove(queue_, entries_);
  detail::lifetime_registry::instance().remove_child(queue_, object_kind::completion_reservation);
}

}  // namespace adverb::inline ADVERB_ABI
