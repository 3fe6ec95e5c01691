// SPDX-License-Identifier: MIT
// The asynchronous events of one device.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <system_error>
#include <utility>

#include <adverb/async/event_source.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/detail/event_descriptor.hpp>
#include <adverb/device/async_event.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Takes the events of a device, acknowledges them, and keeps those that nobody has waited for.
class device_event_source final : public async::event_source {
 public:
  /// The events of the context must not block. Allocates memory, for the deque.
  explicit device_event_source(context_ref of)
      : event_source{of.async_file_descriptor()}, context_{of} {}

  bool ready() override {
    std::error_code ignored;
    while (true) {
      // Before the event is taken, which would be lost without memory.
      std::optional<async_event>& next = events_.emplace_back();
      next = context_.next_async_event(ignored);
      if (!next) {
        // The kernel has closed it.
        if (is_code(ignored, std::errc::io_error)) silence(file_descriptor());
        break;
      }
      // The loop destroys queue pairs, which waits for this.
      next->acknowledge();
      if (events_.size() > most_kept) events_.pop_front();
      waiters_.resume_first();
    }
    events_.pop_back();
    return true;
  }

  [[nodiscard]] std::optional<async_event> take() {
    if (events_.empty()) return std::nullopt;
    std::optional<async_event> next = std::move(events_.front());
    events_.pop_front();
    return next;
  }
  [[nodiscard]] async::waiter_list& waiters() noexcept { return waiters_; }

 private:
  static constexpr std::size_t most_kept = 256;

  context_ref context_;
  std::deque<std::optional<async_event>> events_;
  async::waiter_list waiters_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
