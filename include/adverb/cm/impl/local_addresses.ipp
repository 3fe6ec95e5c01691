// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include <adverb/cm/local_addresses.hpp>
#include <adverb/device/detail/device_files.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC static_string<IF_NAMESIZE> interface_of(const cm::socket_address& wanted) {
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

ADVERB_FUNC void with_device_of(const cm::socket_address& address,
                                callable_ref<const ibv_context*> function) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) != 0) return;
  if (rdma_bind_addr(id, address.native()) == 0 && id->verbs != nullptr) function(id->verbs);
  rdma_destroy_id(id);
}

ADVERB_FUNC void put_rdma_addresses(text_writer& writer, cm::address_family family) {
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
  const static_string<256> closed{[](text_writer& more) {
    problem_list problems{more};
    explain_closed_devices(problems);
  }};
  writer.put(closed.view().empty() ? "" : "; ").put(closed);
}

}  // namespace adverb::inline ADVERB_ABI::detail
