// SPDX-License-Identifier: MIT
// Events of identifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/later_calls.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/core/text.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The type of an event of librdmacm.
enum class event_type : std::uint32_t {
  address_resolved = RDMA_CM_EVENT_ADDR_RESOLVED,
  address_error = RDMA_CM_EVENT_ADDR_ERROR,
  route_resolved = RDMA_CM_EVENT_ROUTE_RESOLVED,
  route_error = RDMA_CM_EVENT_ROUTE_ERROR,
  /// A peer requests a connection; accept or reject the request.
  connect_request = RDMA_CM_EVENT_CONNECT_REQUEST,
  /// The peer accepts, and the program drives the queue pair; call `establish`.
  connect_response = RDMA_CM_EVENT_CONNECT_RESPONSE,
  connect_error = RDMA_CM_EVENT_CONNECT_ERROR,
  unreachable = RDMA_CM_EVENT_UNREACHABLE,
  rejected = RDMA_CM_EVENT_REJECTED,
  established = RDMA_CM_EVENT_ESTABLISHED,
  disconnected = RDMA_CM_EVENT_DISCONNECTED,
  /// The device is gone; destroy every object on it.
  device_removal = RDMA_CM_EVENT_DEVICE_REMOVAL,
  multicast_join = RDMA_CM_EVENT_MULTICAST_JOIN,
  multicast_error = RDMA_CM_EVENT_MULTICAST_ERROR,
  /// The local address moved to another device.
  address_change = RDMA_CM_EVENT_ADDR_CHANGE,
  /// The queue pair of an ended connection can be used again.
  timewait_exit = RDMA_CM_EVENT_TIMEWAIT_EXIT,
  // RDMA_CM_EVENT_ADDRINFO_RESOLVED, RDMA_CM_EVENT_ADDRINFO_ERROR and RDMA_CM_EVENT_USER, of
  // rdma-core 60.
  address_info_resolved = 16,
  address_info_error = 17,
  /// The program raised it (`identifier::raise_event`).
  user = 18,
};

[[nodiscard]] constexpr static_string<48> to_text(event_type type) noexcept {
  const auto name = [type]() -> std::string_view {
    switch (type) {
      case event_type::address_resolved: return "address resolved";
      case event_type::address_error: return "address error";
      case event_type::route_resolved: return "route resolved";
      case event_type::route_error: return "route error";
      case event_type::connect_request: return "connect request";
      case event_type::connect_response: return "connect response";
      case event_type::connect_error: return "connect error";
      case event_type::unreachable: return "unreachable";
      case event_type::rejected: return "rejected";
      case event_type::established: return "established";
      case event_type::disconnected: return "disconnected";
      case event_type::device_removal: return "device removal";
      case event_type::multicast_join: return "multicast join";
      case event_type::multicast_error: return "multicast error";
      case event_type::address_change: return "address change";
      case event_type::timewait_exit: return "timewait exit";
      case event_type::address_info_resolved: return "address info resolved";
      case event_type::address_info_error: return "address info error";
      case event_type::user: return "user";
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint32_t>(type));
}

/// An event taken from a channel. The destructor acknowledges it.
///
///     while (auto event = channel.next_event()) {
///       switch (event->type()) {
///         case event_type::connect_request: serve(event->take_request()); break;
///         case event_type::established: start(event->identifier()); break;
///         …
///
/// Destroying an identifier blocks until all events that name it are acknowledged, so a thread must
/// not destroy the identifier of an event that it holds. A connection request that was not taken is
/// rejected when the event is destroyed.
class [[nodiscard]] event {
 public:
  /// Takes an event returned by `rdma_get_cm_event`, and acknowledges it later.
  event(adopt_t, rdma_cm_event* native) noexcept
      : native_{native},
        type_{static_cast<event_type>(native->event)},
        status_{native->status},
        holds_request_{type_ == event_type::connect_request},
        carries_data_{!private_data().empty()} {}

  event(event&& other) noexcept
      : native_{std::exchange(other.native_, nullptr)},
        type_{other.type_},
        status_{other.status_},
        holds_request_{std::exchange(other.holds_request_, false)},
        carries_data_{other.carries_data_} {}
  event& operator=(event&& other) noexcept;
  ~event() { acknowledge(); }

  /// Acknowledges the event, so that its identifiers can be destroyed. Further calls do nothing.
  /// Wraps: rdma_ack_cm_event(3).
  void acknowledge() noexcept;
  /// Releases the event without acknowledging it.
  [[nodiscard]] rdma_cm_event* release() noexcept {
    holds_request_ = false;
    return std::exchange(native_, nullptr);
  }

  /// Returns the type of the event.
  [[nodiscard]] event_type type() const noexcept { return type_; }
  /// Returns 0, or the cause of a failure: a negated errno, or the reason of a rejection.
  [[nodiscard]] int status() const noexcept { return status_; }
  /// Returns true if the peer rejected a connection (`event_type::rejected`) or a request for
  /// datagrams (`event_type::unreachable` with a status of its protocol).
  [[nodiscard]] bool is_rejection() const noexcept {
    return type_ == event_type::rejected || (type_ == event_type::unreachable && status_ > 0);
  }
  /// Returns the reason of the rejection.
  [[nodiscard]] reject_reason reason() const noexcept;

  // The functions below return empty values once the event is acknowledged.
  /// Returns the identifier of the event; for a request, the new identifier.
  [[nodiscard]] identifier_ref identifier() const noexcept {
    return native_ == nullptr ? nullptr : native_->id;
  }
  /// Returns the listener that received the request.
  [[nodiscard]] identifier_ref listener() const noexcept {
    return native_ == nullptr ? nullptr : native_->listen_id;
  }
  /// Takes the identifier of a request, to accept or reject it. Returns an empty one if the event
  /// is no request, or if it was taken already.
  [[nodiscard]] cm::identifier take_request() noexcept;

  /// Returns the private data of a request, an acceptance or a rejection.
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept ADVERB_LIFETIME_BOUND;
  /// Returns the parameters that a connection request proposes, or that its acceptance grants.
  [[nodiscard]] peer_parameters parameters() const noexcept {
    if (native_ == nullptr) return {};
    return peer_parameters::from_native(native_->param.conn);
  }

  /// Returns the queue pair of a datagram peer (`event_type::established`), or the group that was
  /// joined.
  [[nodiscard]] cm::datagram_parameters datagram_parameters() const noexcept {
    if (native_ == nullptr) return {};
    return datagram_parameters::from_native(native_->param.ud);
  }
  /// Returns the context of the join; null if the event is about no group.
  [[nodiscard]] const void* join_context() const noexcept {
    return native_ != nullptr && is_about_group() ? native_->param.ud.private_data : nullptr;
  }

  /// Returns the argument of `identifier::raise_event`; 0 if the event is of another type.
  [[nodiscard]] std::uint64_t user_argument() const noexcept {
    return native_ != nullptr && type_ == event_type::user ? detail::argument_of(*native_) : 0;
  }

  /// Returns the C API event, or null once it is acknowledged.
  [[nodiscard]] const rdma_cm_event* native_handle() const noexcept { return native_; }

 private:
  /// Returns true for group events, which carry the join's pointer in place of private data.
  [[nodiscard]] bool is_about_group() const noexcept {
    return type_ == event_type::multicast_join || type_ == event_type::multicast_error;
  }

  rdma_cm_event* native_;
  event_type type_;
  int status_;
  bool holds_request_;
  bool carries_data_;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/event.ipp>
#endif
