// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/connection_parameters.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC rdma_conn_param connection_parameters::native() const noexcept {
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

}  // namespace adverb::inline ADVERB_ABI::cm
