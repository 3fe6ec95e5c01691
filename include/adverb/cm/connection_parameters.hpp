// SPDX-License-Identifier: MIT
// What one side of a connection tells the other when it is made.
#pragma once

#include <cstdint>
#include <optional>

#include <rdma/rdma_cma.h>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI::cm {

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
