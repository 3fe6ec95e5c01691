// SPDX-License-Identifier: MIT
// Port spaces of identifiers.
#pragma once

#include <cstdint>

#include <rdma/rdma_cma.h>

#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

enum class port_space : std::uint32_t {
  /// Connections (RC).
  tcp = RDMA_PS_TCP,
  /// Datagrams (UD).
  udp = RDMA_PS_UDP,
  /// Datagrams that also IP over InfiniBand receives (UD).
  ipoib = RDMA_PS_IPOIB,
  /// InfiniBand's own service IDs, for any transport; the only space for UC and XRC.
  infiniband = RDMA_PS_IB,
};

/// Returns the port space for a transport.
[[nodiscard]] constexpr port_space port_space_of(transport service) noexcept {
  switch (service) {
    case transport::rc: return port_space::tcp;
    case transport::ud: return port_space::udp;
    default: return port_space::infiniband;
  }
}

}  // namespace adverb::inline ADVERB_ABI::cm
