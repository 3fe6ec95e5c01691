// SPDX-License-Identifier: MIT
// The addresses of this machine's RDMA devices.
#pragma once

#include <string_view>
#include <vector>

#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/text.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Calls `function` with each address of this machine and its interface entry, until it returns
/// false.
template <class Function>
void for_each_local_address(const Function& function) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const cm::socket_address address =
        cm::socket_address::from_native(entry->ifa_addr, sizeof(sockaddr_in6));
    if (!address.is_empty() && !function(address, *entry)) break;
  }
  ::freeifaddrs(first);
}

/// Returns the name of the interface that has an address; empty if none has it.
[[nodiscard]] static_string<IF_NAMESIZE> interface_of(const cm::socket_address& wanted);

/// Calls `function` with the device that serves a local address, if there is one, as rdma_cm finds
/// it.
void with_device_of(const cm::socket_address& address, callable_ref<const ibv_context*> function);

/// Writes "the RDMA devices here have 10.1.0.1 (rxe0), 10.2.0.1 (rxe1)": the first few of a family.
[[gnu::cold]] void put_rdma_addresses(text_writer& writer, cm::address_family family);

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// A local IP address that an RDMA device serves, with port 0.
struct local_address {
  /// The address.
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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/local_addresses.ipp>
#endif
