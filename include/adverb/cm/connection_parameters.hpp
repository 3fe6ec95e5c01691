// SPDX-License-Identifier: MIT
// The parameters that the two sides of a connection exchange.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/rdma_cma.h>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/request/address.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The last completed step of connection establishment. A type parameter, because it decides the
/// next permitted steps.
enum class step : std::uint8_t {
  start,
  /// The device is known; objects can be created on it.
  address_resolved,
  /// The queue pair can be created.
  route_resolved,
  /// A listener received the request; the queue pair can be created.
  requested,
  /// The queue pair exists; receives can be posted and the connection established.
  ready,
};

/// The creator of a connection's queue pair, a parameter of the connection's type.
enum class pair_owner : std::uint8_t {
  /// `create_queue_pair`: librdmacm drives the state transitions.
  librdmacm,
  /// `use_queue_pair`: adverb drives the state transitions as librdmacm would.
  program,
};

// Declared here for the default template arguments.
template <transport Transport = transport::rc, step Step = step::start,
          pair_owner Owner = pair_owner::librdmacm>
class connector;
template <transport Transport = transport::rc, step Step = step::requested,
          pair_owner Owner = pair_owner::librdmacm>
class connection_request;
template <transport Transport = transport::rc, pair_owner Owner = pair_owner::librdmacm>
class connection;
template <transport Transport = transport::rc>
class listener;

/// The parameters that the peer sent with its request or its acceptance.
struct peer_parameters {
  /// The outstanding RDMA reads and atomics that the connection permits, with this side as the
  /// responder and as the requester.
  std::uint8_t max_destination_read_atomic = 0;
  /// Reads and atomics in progress with this side as the requester.
  std::uint8_t max_initiator_read_atomic = 0;
  /// Number of times that the peer sends a packet again.
  std::uint8_t retry_count = 0;
  /// Number of the peer's retries after a receiver-not-ready (RNR) response; 7 is unlimited.
  std::uint8_t rnr_retry_count = 0;
  /// True if the peer requests link-level flow control.
  bool flow_control = false;
  /// True if the peer's queue pair uses a shared receive queue.
  bool has_shared_receive_queue = false;
  /// The peer's queue pair.
  qp_number queue_pair_number{};

  peer_parameters() noexcept = default;
  /// Copies the C API struct.
  [[nodiscard]] static peer_parameters from_native(const rdma_conn_param& native) noexcept {
    return peer_parameters{native};
  }

 private:
  explicit peer_parameters(const rdma_conn_param& native) noexcept
      : max_destination_read_atomic{native.responder_resources},
        max_initiator_read_atomic{native.initiator_depth},
        retry_count{native.retry_count},
        rnr_retry_count{native.rnr_retry_count},
        flow_control{native.flow_control != 0},
        has_shared_receive_queue{native.srq != 0},
        queue_pair_number{native.qp_num} {}
};

/// The queue key of every UD queue pair that librdmacm creates for a port (`port_space::udp`), and
/// the only one that it sends to peers.
inline constexpr queue_key datagram_queue_key{RDMA_UDP_QKEY};

/// The route to a peer or multicast group, and its queue pair.
struct datagram_parameters {
  /// The route.
  adverb::address address{};
  /// The queue pair number of the destination.
  qp_number queue_pair_number{};
  /// The queue key that the destination expects.
  adverb::queue_key queue_key{};

  datagram_parameters() noexcept = default;
  /// Copies the C API struct.
  [[nodiscard]] static datagram_parameters from_native(const rdma_ud_param& native) noexcept {
    return datagram_parameters{native};
  }

 private:
  explicit datagram_parameters(const rdma_ud_param& native) noexcept
      : address{adverb::address::from_native(native.ah_attr)},
        queue_pair_number{native.qp_num},
        queue_key{native.qkey} {}
};

/// The parameters to send with a connection request or its acceptance.
struct connection_parameters {
  /// Private data for the peer's program.
  cm::private_data private_data{};
  /// The outstanding RDMA reads and atomics of this side, as the responder and as the requester.
  /// The default is the device's maximum; when accepting, at most what the peer requests.
  std::optional<std::uint8_t> max_destination_read_atomic{};
  /// Reads and atomics in progress with this side as the requester.
  std::optional<std::uint8_t> max_initiator_read_atomic{};
  /// The number of times a packet is retransmitted before the connection fails, up to 7. The
  /// connecting side's value applies to both.
  std::uint8_t retry_count = 6;
  /// The number of retries after a receiver-not-ready (RNR) response; 7 is unlimited.
  std::uint8_t rnr_retry_count = 7;
  /// The time after which the peer tries again when it finds no posted receive (RNR). This side
  /// sets it on its queue pair once that is connected; the peer does not get it. librdmacm's own
  /// value is 655 ms. `identifier_ref::connect` and `accept` ignore it, and iWARP has no such
  /// timer.
  adverb::rnr_timer rnr_timer = detail::default_duration<1'000'000>{640};
  /// Enables link-level flow control if the hardware supports it.
  bool flow_control = true;
  /// Only for a queue pair that librdmacm did not create: its number, and whether it uses a shared
  /// receive queue.
  qp_number queue_pair_number{};
  /// True if the queue pair of the program uses a shared receive queue.
  bool has_shared_receive_queue = false;

  /// Returns the C API struct, which points into this object.
  [[nodiscard]] rdma_conn_param native() const noexcept;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/connection_parameters.ipp>
#endif
