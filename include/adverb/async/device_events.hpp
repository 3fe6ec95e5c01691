// SPDX-License-Identifier: MIT
// Waiting for the asynchronous events of a device.
#pragma once

#include <optional>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/device/async_event.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class device_event_step;

/// The asynchronous events of a device, such as of a port that is down, or of a shared receive
/// queue that reached its limit:
///
///     async::device_events events{loop, connection.queue_pair().context()};
///     while (const auto event = co_await events.next()) log(to_text(*event));
///
/// From the first such object on, the loop takes every event of the device, and keeps those that
/// nobody has waited for, the last 256. The objects of a device share its events. Not thread safe.
class device_events {
 public:
  /// Has the loop watch the events of a device, which must outlive the loop.
  device_events(device_loop& loop, context_ref context, on_failure policy = throwing{})
      : loop_{&loop}, source_{loop.events(context, policy)} {}

  [[nodiscard]] explicit operator bool() const noexcept { return source_ != nullptr; }

  /// Waits for the next event. It is acknowledged already, so it names no object: compare the
  /// pointers of `native()`. The result is empty only if the failure is reported, not thrown.
  /// Wraps: ibv_get_async_event(3), ibv_ack_async_event(3).
  [[nodiscard]] device_event_step next() const noexcept;
  /// Ends the waits for events of the device with ECANCELED.
  void cancel_waits() const noexcept { loop_->cancel(source().waiters()); }

 private:
  [[nodiscard]] detail::device_event_source& source() const noexcept {
    detail::require(source_ != nullptr, "async::device_events",
                    "the object is empty: its constructor failed");
    return *source_;
  }

  device_loop* loop_;
  detail::device_event_source* source_;
};

/// The next asynchronous event of a device.
class device_event_step : public detail::async_step<device_event_step> {
 public:
  /// Makes the step of this device.
  device_event_step(device_loop& loop, detail::device_event_source& source) noexcept
      : loop_{&loop}, source_{&source} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::take_operation<Derived, detail::device_event_source,
                                                  &detail::device_event_source::take> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const device_event_step& step) noexcept
        : detail::take_operation<Derived, detail::device_event_source,
                                 &detail::device_event_source::take>{*step.source_} {}

    /// Returns the result, or reports the failure.
    [[nodiscard]] std::optional<async_event> take(on_failure policy) {
      return this->take_next("async::device_events::next", policy);
    }
  };

 private:
  device_loop* loop_;
  detail::device_event_source* source_;
};

inline device_event_step device_events::next() const noexcept { return {*loop_, source()}; }

}  // namespace adverb::inline ADVERB_ABI::async
