// SPDX-License-Identifier: MIT
// The addresses of this machine, and those that an RDMA device serves, to explain why another
// address is unusable. Used only after a failure.
#pragma once

#include <ifaddrs.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/callable_ref.hpp>
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
void put_rdma_addresses(text_writer& writer, cm::address_family family);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/local_addresses.ipp>
#endif
