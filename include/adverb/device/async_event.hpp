// SPDX-License-Identifier: MIT
// Asynchronous events of a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The type of an asynchronous event of a device, or of an object on it.
enum class async_event_type : std::uint32_t {
  completion_queue_error = IBV_EVENT_CQ_ERR,
  queue_pair_fatal_error = IBV_EVENT_QP_FATAL,
  queue_pair_request_error = IBV_EVENT_QP_REQ_ERR,
  queue_pair_access_error = IBV_EVENT_QP_ACCESS_ERR,
  communication_established = IBV_EVENT_COMM_EST,
  send_queue_drained = IBV_EVENT_SQ_DRAINED,
  path_migrated = IBV_EVENT_PATH_MIG,
  path_migration_error = IBV_EVENT_PATH_MIG_ERR,
  device_fatal_error = IBV_EVENT_DEVICE_FATAL,
  port_active = IBV_EVENT_PORT_ACTIVE,
  port_error = IBV_EVENT_PORT_ERR,
  lid_change = IBV_EVENT_LID_CHANGE,
  pkey_change = IBV_EVENT_PKEY_CHANGE,
  subnet_manager_change = IBV_EVENT_SM_CHANGE,
  shared_receive_queue_error = IBV_EVENT_SRQ_ERR,
  shared_receive_queue_limit_reached = IBV_EVENT_SRQ_LIMIT_REACHED,
  last_work_request_reached = IBV_EVENT_QP_LAST_WQE_REACHED,
  client_reregister = IBV_EVENT_CLIENT_REREGISTER,
  gid_change = IBV_EVENT_GID_CHANGE,
  work_queue_fatal_error = IBV_EVENT_WQ_FATAL,
  device_speed_change = 20,  // IBV_EVENT_DEVICE_SPEED_CHANGE, of later rdma-core
};

/// The kind of object that an event is about.
enum class async_event_subject : std::uint8_t {
  device,
  port,
  queue_pair,
  completion_queue,
  shared_receive_queue,
  work_queue,
};

/// The severity of an event.
enum class async_event_severity : std::uint8_t {
  /// Something changed, or was reached.
  notice,
  /// Something failed, and may recover.
  error,
  /// The object can no longer be used. Destroy it; a queue pair can also be reset.
  fatal,
};

namespace detail {

struct async_event_description {
  std::string_view name;
  async_event_subject subject = async_event_subject::device;
  async_event_severity severity = async_event_severity::notice;
  std::string_view hint;
};

// The only table of event types.
[[nodiscard]] constexpr async_event_description describe(async_event_type type) noexcept {
  using enum async_event_type;
  using subject = async_event_subject;
  using severity = async_event_severity;
  switch (type) {
    case completion_queue_error:
      return {"completion queue error", subject::completion_queue, severity::fatal,
              "more completions arrived than it holds; its queue pairs are lost too"};
    case queue_pair_fatal_error:
      return {"queue pair fatal error", subject::queue_pair, severity::fatal,
              "the device could not complete its work and put it into the error state"};
    case queue_pair_request_error:
      return {"queue pair invalid request", subject::queue_pair, severity::fatal,
              "the peer sent a request that is not allowed; the pair is in the error state"};
    case queue_pair_access_error:
      return {"queue pair access error", subject::queue_pair, severity::fatal,
              "the peer's request violated the protection of local memory; the pair is in the "
              "error state"};
    case communication_established:
      return {"communication established", subject::queue_pair, severity::notice,
              "the first packet arrived before the pair was ready to send"};
    case send_queue_drained:
      return {"send queue drained", subject::queue_pair, severity::notice,
              "the requests in progress are complete, and the pair can be modified"};
    case path_migrated:
      return {"path migrated", subject::queue_pair, severity::notice,
              "the connection uses its alternate path now"};
    case path_migration_error:
      return {"path migration error", subject::queue_pair, severity::error,
              "the connection could not change to its alternate path"};
    case device_fatal_error:
      return {"device fatal error", subject::device, severity::fatal,
              "the device no longer works; close all objects created on it"};
    case port_active: return {"port active", subject::port, severity::notice, "the link is up"};
    case port_error:
      return {"port error", subject::port, severity::error,
              "the link is down; requests time out unless it comes back"};
    case lid_change:
      return {"LID change", subject::port, severity::notice,
              "peers that address the port by LID need the new one"};
    case pkey_change:
      return {"P_Key table change", subject::port, severity::notice,
              "P_Key indices may refer to other keys now"};
    case subnet_manager_change:
      return {"subnet manager change", subject::port, severity::notice,
              "the subnet has another manager"};
    case shared_receive_queue_error:
      return {"shared receive queue error", subject::shared_receive_queue, severity::fatal,
              "it accepts and delivers no more receives"};
    case shared_receive_queue_limit_reached:
      return {"shared receive queue limit reached", subject::shared_receive_queue, severity::notice,
              "fewer receives than the limit are left: post more, and set the "
              "limit again"};
    case last_work_request_reached:
      return {"last work request reached", subject::queue_pair, severity::notice,
              "the pair, in the error state, takes no more receives from its shared receive queue"};
    case client_reregister:
      return {"client reregistration", subject::port, severity::notice,
              "the subnet manager requests all subscriptions again"};
    case gid_change:
      return {"GID table change", subject::port, severity::notice,
              "GID indices may refer to other addresses now"};
    case work_queue_fatal_error:
      return {"work queue fatal error", subject::work_queue, severity::fatal,
              "it is in the error state"};
    case device_speed_change:
      return {"device speed change", subject::device, severity::notice,
              "the effective bandwidth of a port changed"};
  }
  return {};
}

}  // namespace detail

[[nodiscard]] constexpr static_string<48> to_text(async_event_type type) noexcept {
  return detail::name_or_number(detail::describe(type).name, static_cast<std::uint32_t>(type));
}

[[nodiscard]] constexpr static_string<48> to_text(async_event_subject subject) noexcept {
  constexpr std::string_view names =
      "device|port|queue pair|completion queue|shared receive queue|work queue";
  const auto number = static_cast<std::uint8_t>(subject);
  return detail::listed_name_or_number(names, number);
}

[[nodiscard]] constexpr static_string<48> to_text(async_event_severity severity) noexcept {
  constexpr std::string_view names = "notice|error|fatal";
  const auto number = static_cast<std::uint8_t>(severity);
  return detail::listed_name_or_number(names, number);
}

/// Returns the subject of an event type; the device for a type unknown to this version.
[[nodiscard]] constexpr async_event_subject subject_of(async_event_type type) noexcept {
  return detail::describe(type).subject;
}
/// Returns the severity of an event type.
[[nodiscard]] constexpr async_event_severity severity_of(async_event_type type) noexcept {
  return detail::describe(type).severity;
}
/// Returns the meaning of an event type for a program; empty for a type unknown to this version.
[[nodiscard]] constexpr std::string_view hint_for(async_event_type type) noexcept {
  return detail::describe(type).hint;
}

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

  /// Returns the type of the event.
  [[nodiscard]] async_event_type type() const noexcept {
    return static_cast<async_event_type>(native_.event_type);
  }
  /// Returns the kind of object that the event concerns.
  [[nodiscard]] async_event_subject subject() const noexcept { return subject_of(type()); }
  /// Returns the severity of the event.
  [[nodiscard]] async_event_severity severity() const noexcept { return severity_of(type()); }

  // The object of the event; empty for events of another subject, and after the acknowledgement.
  /// Returns the queue pair of the event; empty for another subject, and after the acknowledgement.
  [[nodiscard]] reference<ibv_qp> queue_pair() const noexcept {
    return names(async_event_subject::queue_pair) ? native_.element.qp : nullptr;
  }
  /// Returns the completion queue of the event; empty for another subject, and after the
  /// acknowledgement.
  [[nodiscard]] reference<ibv_cq> completion_queue() const noexcept {
    return names(async_event_subject::completion_queue) ? native_.element.cq : nullptr;
  }
  /// Returns the shared receive queue of the event; empty for another subject, and after the
  /// acknowledgement.
  [[nodiscard]] reference<ibv_srq> srq() const noexcept {
    return names(async_event_subject::shared_receive_queue) ? native_.element.srq : nullptr;
  }
  /// Returns the work queue of the event; empty for another subject, and after the acknowledgement.
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
