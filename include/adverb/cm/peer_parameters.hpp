// SPDX-License-Identifier: MIT
// What the other side of a connection told when it was made.
#pragma once

#include <cstdint>

#include <rdma/rdma_cma.h>

#include <adverb/core/ids.hpp>

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

}  // namespace adverb::inline ADVERB_ABI::cm
