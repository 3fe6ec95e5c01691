// SPDX-License-Identifier: MIT
// Where datagrams go, as librdmacm tells it.
#pragma once

#include <rdma/rdma_cma.h>

#include <adverb/core/ids.hpp>
#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI::cm {

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

}  // namespace adverb::inline ADVERB_ABI::cm
