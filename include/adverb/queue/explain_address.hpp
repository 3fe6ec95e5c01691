// SPDX-License-Identifier: MIT
// What is wrong with an address, as far as this side can see.
#pragma once

#include <system_error>
#include <vector>

#include <adverb/device/choose_gid.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// "usable: 0 (RoCE v2, fe80::…), 1 (RoCE v2, ::ffff:10.0.0.1)", the GIDs of a port.
inline void put_usable_gids(text_writer& writer, context_ref context, port_number port) {
  std::error_code unknown;
  std::string_view separator = "usable: ";
  for (const gid_entry& entry : context.gid_table(unknown)) {
    if (entry.port() != port || gid_preference(entry) == 0) continue;
    writer.put(separator).put(entry);
    separator = ", ";
  }
  if (separator == "usable: ")
    writer.put("port ").put(port).put(" has none: give its network interface an address");
}

/// Says what is wrong with an address, or nothing.
inline void explain_address(text_writer& writer, context_ref context, const ibv_ah_attr& address,
                            const std::error_code& code) {
  const port_number port{address.port_num};
  failure why;
  const port_attributes attributes = context.query_port(port, why);
  if (why) {
    writer.put("port ").put(port).put(": ").put(why.explanation());
    return;
  }
  if (attributes.state() != port_state::active && attributes.state() != port_state::armed) {
    writer.put("port ").put(port).put(" is ").put(attributes.state());
    return;
  }
  if (address.is_global == 0) {
    if (attributes.is_ethernet())
      writer.put("the address has no global route (GRH), which Ethernet links need");
    return;
  }
  const gid_index source{address.grh.sgid_index};
  const std::optional<gid_entry> entry = context.gid_entry(port, source, why);
  if (why || !entry || entry->gid().is_empty()) {
    writer.put("sgid index ").put(source).put(" is empty; ");
    put_usable_gids(writer, context, port);
    return;
  }
  const gid destination{address.grh.dgid};
  if (destination.is_empty()) {
    writer.put("the destination GID is empty");
    return;
  }
  if (entry->type() != gid_type::infiniband &&
      entry->gid().is_ipv4_mapped() != destination.is_ipv4_mapped()) {
    writer.put("sgid index ").put(entry->index()).put(" is ").put(entry->gid());
    writer.put(", of another address family than the peer's ").put(destination).put("; ");
    put_usable_gids(writer, context, port);
    return;
  }
  if (code == std::errc::network_unreachable || code == std::errc::host_unreachable ||
      code == std::errc::timed_out || code == std::errc::invalid_argument) {
    writer.put("no way was found from ").put(entry->gid()).put(" (sgid index ");
    writer.put(source).put(") to ").put(destination);
    writer.put(": check the route, the peer's address, and that its interface is up");
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
