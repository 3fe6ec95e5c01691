// SPDX-License-Identifier: MIT
// What one side of a connection tells the other when it is made.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/rdma_cma.h>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What the peer told: with its request to connect, or with its acceptance.
struct peer_parameters {
  /// How many reads and atomics the connection can have in progress, as this side is the responder
  /// and the requester.
  std::uint8_t max_destination_read_atomic = 0;
  std::uint8_t max_initiator_read_atomic = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  bool flow_control = false;
  bool has_shared_receive_queue = false;
  /// The peer's queue pair.
  qp_number queue_pair_number{};

  peer_parameters() noexcept = default;
  /// A copy of what the C API has.
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

/// The queue key of every UD queue pair that librdmacm makes for a port (`port_space::udp`), and
/// the only one that it tells to peers.
inline constexpr queue_key datagram_queue_key{RDMA_UDP_QKEY};

/// The way to a peer or to a multicast group, and the queue pair there.
struct datagram_parameters {
  adverb::address address{};
  qp_number queue_pair_number{};
  adverb::queue_key queue_key{};

  datagram_parameters() noexcept = default;
  /// A copy of what the C API has.
  [[nodiscard]] static datagram_parameters from_native(const rdma_ud_param& native) noexcept {
    return datagram_parameters{native};
  }

 private:
  explicit datagram_parameters(const rdma_ud_param& native) noexcept
      : address{adverb::address::from_native(native.ah_attr)},
        queue_pair_number{native.qp_num},
        queue_key{native.qkey} {}
};

/// What goes with a request to connect, or with its acceptance.
struct connection_parameters {
  /// Handed to the program at the other side.
  cm::private_data private_data{};
  /// How many reads and atomics this side can have in progress, as the responder and as the
  /// requester; as many as the device has unless it is said here, and when accepting no more than
  /// the peer asks for.
  std::optional<std::uint8_t> max_destination_read_atomic{};
  std::optional<std::uint8_t> max_initiator_read_atomic{};
  /// How often a packet is sent again before the connection is given up (up to 7). What the
  /// connecting side says holds for both.
  std::uint8_t retry_count = 6;
  /// The same for a receiver that has posted no receive; 7 is without end.
  std::uint8_t rnr_retry_count = 7;
  /// Link-level flow control, where the hardware has it.
  bool flow_control = true;
  /// Only for a queue pair that the library did not make: its number, and whether it takes its
  /// receives from a shared receive queue.
  qp_number queue_pair_number{};
  bool has_shared_receive_queue = false;

  /// For the C API. Points into this object.
  [[nodiscard]] rdma_conn_param native() const noexcept {
    rdma_conn_param native{};
    native.private_data = private_data.bytes().data();
    native.private_data_len = static_cast<std::uint8_t>(private_data.bytes().size());
    native.responder_resources = max_destination_read_atomic.value_or(RDMA_MAX_RESP_RES);
    native.initiator_depth = max_initiator_read_atomic.value_or(RDMA_MAX_INIT_DEPTH);
    native.flow_control = flow_control ? 1 : 0;
    native.retry_count = retry_count;
    native.rnr_retry_count = rnr_retry_count;
    native.srq = has_shared_receive_queue ? 1 : 0;
    native.qp_num = static_cast<std::uint32_t>(queue_pair_number);
    return native;
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm
