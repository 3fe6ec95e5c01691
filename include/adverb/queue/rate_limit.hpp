// SPDX-License-Identifier: MIT
// How fast a queue pair may send.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The pacing of a queue pair. See the packet pacing capabilities of the device.
struct rate_limit {
  /// 0 for no limit.
  std::uint32_t kilobits_per_second = 0;
  /// In bytes; 0 for the default of the device.
  std::uint32_t max_burst_size = 0;
  /// In bytes; 0 for the MTU of the port.
  std::uint16_t typical_packet_size = 0;

  [[nodiscard]] ibv_qp_rate_limit_attr native() const noexcept {
    ibv_qp_rate_limit_attr native{};
    native.rate_limit = kilobits_per_second;
    native.max_burst_sz = max_burst_size;
    native.typical_pkt_sz = typical_packet_size;
    return native;
  }
};

}  // namespace adverb::inline ADVERB_ABI
