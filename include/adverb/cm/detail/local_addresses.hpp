// SPDX-License-Identifier: MIT
// The addresses of this machine, and those that an RDMA device serves, to explain why another
// address is unusable. Used only after a failure.
#pragma once

#include <cstdint>
#include <string_view>

#include <ifaddrs.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/callable_ref.hpp>

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
[[nodiscard]] inline static_string<IF_NAMESIZE> interface_of(const cm::socket_address& wanted) {
  return static_string<IF_NAMESIZE>{[&](text_writer& writer) {
    for_each_local_address([&](const cm::socket_address& address, const ifaddrs& entry) {
      const bool found =
          address.ipv4() == wanted.ipv4() && address.ipv6() == wanted.ipv6() &&
          (wanted.scope() == 0 || address.scope() == 0 || address.scope() == wanted.scope());
      if (found) writer.put(std::string_view{entry.ifa_name});
      return !found;
    });
  }};
}

/// Calls `function` with the device that serves a local address, if there is one, as rdma_cm finds
/// it.
inline void with_device_of(const cm::socket_address& address,
                           callable_ref<const ibv_context*> function) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) != 0) return;
  if (rdma_bind_addr(id, address.native()) == 0 && id->verbs != nullptr) function(id->verbs);
  rdma_destroy_id(id);
}

/// Writes "the RDMA devices here have 10.1.0.1 (rxe0), 10.2.0.1 (rxe1)": the first few of a family.
inline void put_rdma_addresses(text_writer& writer, cm::address_family family) {
  constexpr int most_found = 8;
  // Each address costs several system calls, and a machine may have thousands.
  int left = 64;
  int found = 0;
  for_each_local_address([&](const cm::socket_address& address, const ifaddrs& entry) {
    if (address.family() != family || (entry.ifa_flags & IFF_LOOPBACK) != 0) return true;
    with_device_of(address, [&](const ibv_context* context) {
      writer.put(found++ == 0 ? "the RDMA devices here have " : ", ");
      writer.put(address).put(" (").put(std::string_view{context->device->name}).put(")");
    });
    return --left > 0 && found < most_found;
  });
  if (found == 0) writer.put("no RDMA device here has an ").put(family).put(" address");
}

}  // namespace adverb::inline ADVERB_ABI::detail
