// SPDX-License-Identifier: MIT
// The types of connection manager events.
#pragma once

#include <cstdint>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::cm {

enum class event_type : std::uint32_t {
  address_resolved = RDMA_CM_EVENT_ADDR_RESOLVED,
  address_error = RDMA_CM_EVENT_ADDR_ERROR,
  route_resolved = RDMA_CM_EVENT_ROUTE_RESOLVED,
  route_error = RDMA_CM_EVENT_ROUTE_ERROR,
  /// A peer wants to connect; accept or reject the request.
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
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint32_t>(type));
}

}  // namespace adverb::inline ADVERB_ABI::cm
