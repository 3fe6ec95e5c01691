// SPDX-License-Identifier: MIT
// Multicast groups of RoCE: an IP address, and the network interface that is a member of it.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/file_descriptor.hpp"

namespace examples {

/// Returns the GID of a group from its IPv4 or IPv6 address.
inline adverb::gid group_from(const std::string& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, address.c_str(), bytes.data() + 12) == 1)
    bytes[10] = bytes[11] = 0xff;
  else if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1)
    throw wrong_argument{"--group is " + address + ", which is not an IP address"};
  const adverb::gid group{bytes};
  if (!group.is_multicast())
    throw wrong_argument{
        "--group is " + address +
        ", which is not a multicast address: those are 224.0.0.0 to 239.255.255.255 "
        "and ff00::/8"};
  return group;
}

/// Returns the local GID that can exchange messages with the group: the given one, or the best of
/// the same address family.
inline adverb::gid_entry gid_for(const adverb::gid& group, adverb::context_ref device,
                                 adverb::port_number port,
                                 const std::optional<adverb::gid_index>& wanted) {
  std::optional<adverb::gid_entry> found;
  if (wanted) {
    found = device.gid_entry(port, *wanted);
  } else {
    for (const adverb::gid_entry& entry : device.gid_table())
      if (entry.port() == port && entry.type() == adverb::gid_type::roce_v2 &&
          entry.gid().is_ipv4_mapped() == group.is_ipv4_mapped() &&
          (!found || found->gid().is_link_local()))
        found = entry;
  }
  if (!found)
    throw std::runtime_error{"port " + adverb::to_string(port) + " of " +
                             std::string{device.device().name()} +
                             " has no RoCE v2 GID of the address family of " +
                             adverb::to_string(group) + ": give its network interface an address"};
  return *found;
}

/// Makes the network interface of a GID a member of the group during its lifetime, so that the
/// network delivers the messages of the group.
class group_membership {
 public:
  group_membership(const adverb::gid& group, const adverb::gid_entry& own) {
    const auto join = [&](int level, int option, const auto& membership) {
      if (::setsockopt(socket_.number(), level, option, &membership, sizeof membership) != 0)
        throw std::runtime_error{"the network interface cannot join " + adverb::to_string(group) +
                                 ": " + std::strerror(errno)};
    };
    const auto& bytes = group.bytes();
    if (group.is_ipv4_mapped()) {
      ip_mreqn membership{};
      std::memcpy(&membership.imr_multiaddr, bytes.data() + 12, 4);
      membership.imr_ifindex = static_cast<int>(own.network_interface());
      join(IPPROTO_IP, IP_ADD_MEMBERSHIP, membership);
    } else {
      ipv6_mreq membership{};
      std::memcpy(&membership.ipv6mr_multiaddr, bytes.data(), bytes.size());
      membership.ipv6mr_interface = own.network_interface();
      socket_ = file_descriptor{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
      join(IPPROTO_IPV6, IPV6_JOIN_GROUP, membership);
    }
  }

 private:
  file_descriptor socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

}  // namespace examples
