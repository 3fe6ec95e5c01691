// SPDX-License-Identifier: MIT
// Wakes a wait when a stop is requested from a std::stop_token.
#pragma once

#include <stop_token>
#include <utility>

#include <adverb/core/detail/event_descriptor.hpp>
#include <adverb/core/error.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// A file descriptor that becomes readable when a stop is requested:
///
///     const stop_event stopped{token};
///     while (!token.stop_requested()) {
///       const auto found =
///           queue.wait(batch, timeout::endless().woken_by(stopped.file_descriptor())); …
///     }
///
/// The descriptor stays readable, so every later wait ends at once. Any number of threads can use
/// one object. It can be neither copied nor moved.
class stop_event {
 public:
  /// Creates the descriptor and registers with the token. Wraps: eventfd(2).
  explicit stop_event(std::stop_token token, on_failure policy = throwing{})
      : event_{policy}, callback_{std::move(token), setter{event_}} {}
  stop_event(const stop_event&) = delete;
  stop_event& operator=(const stop_event&) = delete;
  ~stop_event() = default;

  /// Returns the descriptor, or -1 if it could not be created.
  [[nodiscard]] int file_descriptor() const noexcept { return event_.get(); }

 private:
  struct setter {
    const detail::event_descriptor& event;
    void operator()() const noexcept { event.set(); }
  };

  // In this order, because the callback uses the descriptor.
  detail::event_descriptor event_;
  std::stop_callback<setter> callback_;
};

}  // namespace adverb::inline ADVERB_ABI
