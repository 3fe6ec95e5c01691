// SPDX-License-Identifier: MIT
// The Ethernet destination of an address.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI {

/// The Ethernet destination of an address.
struct ethernet_destination {
  /// The MAC address of the peer, or of the router on the way to it.
  std::array<std::uint8_t, 6> mac{};
  /// The VLAN tag of the packets, if any.
  std::optional<std::uint16_t> vlan{};

  friend constexpr bool operator==(const ethernet_destination&,
                                   const ethernet_destination&) noexcept = default;
};

/// Formats a destination: "52:54:00:12:34:56", "52:54:00:12:34:56 vlan 7".
[[nodiscard]] constexpr static_string<48> to_text(
    const ethernet_destination& destination) noexcept {
  return static_string<48>{[&](text_writer& writer) {
    std::string_view separator;
    for (const std::uint8_t byte : destination.mac) {
      writer.put(separator).hexadecimal(byte, 2);
      separator = ":";
    }
    if (destination.vlan) writer.put(" vlan ").decimal(*destination.vlan);
  }};
}

/// Resolves an address on a RoCE port to its MAC address and VLAN, as a connected queue pair does.
/// Uses the routes and neighbours of the kernel, and may block until the network answers. The
/// address needs a route. Wraps: ibv_resolve_eth_l2_from_gid(3).
[[nodiscard]] inline ethernet_destination resolve_ethernet(context_ref context, const address& way,
                                                           on_failure policy = throwing{}) {
  constexpr std::uint16_t untagged = 0xffff;
  constexpr std::string_view verb = "ibv_resolve_eth_l2_from_gid";
  if (!detail::check_present(policy, verb, context.native_handle())) return {};
  ibv_ah_attr attributes = way.native();
  ethernet_destination found;
  std::uint16_t vlan = untagged;
  errno = 0;
  int result =
      ibv_resolve_eth_l2_from_gid(context.native_handle(), &attributes, found.mac.data(), &vlan);
  // If an inner query fails, rdma-core returns -1 instead of an errno.
  if (result == -1 && errno != 0) result = errno;
  const bool resolved =
      detail::check_returned(policy, verb, result, [&](failure_description& description) {
        detail::on_port(context.native_handle(), way.port)(description);
        failure no_port;
        (void)context.query_port(way.port, no_port);
        if (no_port) {
          description.explain(no_port.explanation());
          return;
        }
        if (!way.route) {
          description.explain("the address has no global route (GRH), whose GIDs say the way");
          return;
        }
        description.explain([&](text_writer& writer) {
          writer.put("no neighbour on the way to ").put(way.route->destination);
          writer.put(" from GID ").put(way.route->source);
        });
      });
  if (!resolved) return {};
  if (vlan != untagged) found.vlan = vlan;
  return found;
}

}  // namespace adverb::inline ADVERB_ABI
