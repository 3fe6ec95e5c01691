// SPDX-License-Identifier: MIT
// Asynchronous events of a device.
#pragma once

#include <optional>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/async_event_type.hpp>

namespace adverb::inline ADVERB_ABI {

/// An asynchronous event of a device. Destroying it acknowledges the event:
///
///     while (auto event = context.next_async_event()) {
///       log(to_text(*event));
///       if (event->queue_pair() == pair) …
///       if (auto port = event->port()) …
///     }
///
/// The destruction of the event's object blocks until the event is acknowledged. Therefore the
/// thread that holds the event must not destroy that object. After the acknowledgement another
/// thread may destroy the object, and the event no longer names it. Valid as long as its context.
class [[nodiscard]] async_event {
 public:
  /// Takes over an event from `ibv_get_async_event`, including its acknowledgement.
  async_event(adopt_t, ibv_context* context, const ibv_async_event& native) noexcept
      : context_{context}, native_{native}, pending_{true} {}

  async_event(async_event&& other) noexcept
      : context_{other.context_},
        native_{other.native_},
        pending_{std::exchange(other.pending_, false)} {}
  async_event& operator=(async_event&& other) noexcept;
  ~async_event() { acknowledge(); }

  /// Acknowledges the event, so that its object can be destroyed. A second call does nothing.
  /// Another thread may destroy the object at the same time. Wraps: ibv_ack_async_event(3).
  void acknowledge() noexcept {
    if (std::exchange(pending_, false)) ibv_ack_async_event(&native_);
  }
  /// Returns the event and gives it up without acknowledging it.
  [[nodiscard]] ibv_async_event release() noexcept {
    pending_ = false;
    return native_;
  }

  [[nodiscard]] async_event_type type() const noexcept {
    return static_cast<async_event_type>(native_.event_type);
  }
  [[nodiscard]] async_event_subject subject() const noexcept { return subject_of(type()); }
  [[nodiscard]] async_event_severity severity() const noexcept { return severity_of(type()); }

  // The object of the event; empty for events of another subject, and after the acknowledgement.
  [[nodiscard]] reference<ibv_qp> queue_pair() const noexcept {
    return names(async_event_subject::queue_pair) ? native_.element.qp : nullptr;
  }
  [[nodiscard]] reference<ibv_cq> completion_queue() const noexcept {
    return names(async_event_subject::completion_queue) ? native_.element.cq : nullptr;
  }
  [[nodiscard]] reference<ibv_srq> srq() const noexcept {
    return names(async_event_subject::shared_receive_queue) ? native_.element.srq : nullptr;
  }
  [[nodiscard]] reference<ibv_wq> work_queue() const noexcept {
    return names(async_event_subject::work_queue) ? native_.element.wq : nullptr;
  }
  /// Returns the port of the event, even after the acknowledgement; empty for another subject.
  [[nodiscard]] std::optional<port_number> port() const noexcept;

  [[nodiscard]] const ibv_async_event& native() const noexcept { return native_; }

  /// Formats an event: "port error on rxe0:1", "last work request reached on rxe0 qp 0x11". Omits
  /// the object after the acknowledgement.
  friend static_string<160> to_text(const async_event& event) noexcept {
    return static_string<160>{[&](text_writer& writer) { event.write_to(writer); }};
  }

 private:
  [[nodiscard]] bool names(async_event_subject which) const noexcept {
    return pending_ && subject() == which;
  }

  void write_to(text_writer& writer) const noexcept;

  ibv_context* context_;
  ibv_async_event native_;
  bool pending_;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/async_event.ipp>
#endif
