// SPDX-License-Identifier: MIT
// The addresses of this machine's RDMA devices.
#pragma once

#include <string_view>
#include <vector>

#include <infiniband/verbs.h>
#include <net/if.h>

#include <adverb/cm/detail/local_addresses.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A local IP address that an RDMA device serves, with port 0.
struct local_address {
  socket_address address;
  /// The name of the device.
  static_string<IBV_SYSFS_NAME_MAX> device;
};

/// Returns the addresses to listen on, to connect from or to create a datagram endpoint with. Binds
/// briefly to each address of the machine except loopback addresses, which no device serves.
/// Returns an empty vector if there is no RDMA device or no permission to use rdma_cm.
/// Wraps: getifaddrs(3), rdma_bind_addr(3).
[[nodiscard]] inline std::vector<local_address> local_addresses() {
  std::vector<local_address> found;
  detail::for_each_local_address([&](const socket_address& address, const ifaddrs& entry) {
    if ((entry.ifa_flags & IFF_LOOPBACK) != 0) return true;
    detail::with_device_of(address, [&](const ibv_context* context) {
      found.push_back({address, static_string<IBV_SYSFS_NAME_MAX>{[&](text_writer& writer) {
                         writer.put(std::string_view{context->device->name});
                       }}});
    });
    return true;
  });
  return found;
}

}  // namespace adverb::inline ADVERB_ABI::cm
