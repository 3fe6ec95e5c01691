// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <system_error>

#include <adverb/device/context_ref.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/request/detail/explain_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_usable_gids(text_writer& writer, context_ref context, port_number port) {
  std::error_code unknown;
  std::string_view separator = "usable: ";
  bool none = true;
  for (const gid_entry& entry : context.gid_table(unknown)) {
    if (entry.port() != port || gid_preference(entry) == 0) continue;
    writer.put(separator).put(entry);
    separator = ", ";
    none = false;
  }
  if (none) writer.put("port ").put(port).put(" has none: give its network interface an address");
}

ADVERB_FUNC void put_empty_gid(text_writer& writer, context_ref context, port_number port,
                               gid_index index) {
  writer.put("sgid index ").put(index).put(" is empty; ");
  put_usable_gids(writer, context, port);
}

ADVERB_FUNC bool explain_port(problem_list& problems, context_ref context, port_number port,
                              port_attributes& attributes) {
  failure why;
  attributes = context.query_port(port, why);
  if (why) {
    problems.add(why.explanation());
    return false;
  }
  if (attributes.state() != port_state::active)
    problems.add("port {} is {}", {port, attributes.state()});
  return true;
}

ADVERB_FUNC bool is_about_routing(const std::error_code& code) noexcept {
  return is_code(code, std::errc::network_unreachable) ||
         is_code(code, std::errc::host_unreachable);
}

ADVERB_FUNC void explain_route(problem_list& problems, const std::error_code& code,
                               context_ref context, port_number port,
                               const ibv_global_route& route) {
  std::error_code unknown;
  const gid_index source{route.sgid_index};
  const gid destination{route.dgid};
  const std::optional<gid_entry> entry = context.gid_entry(port, source, unknown);
  if (!entry || entry->gid().is_empty()) {
    problems.add([&](text_writer& writer) { put_empty_gid(writer, context, port, source); });
  } else if (destination.is_empty()) {
    problems.add("the destination GID is empty");
  } else if (entry->type() != gid_type::infiniband &&
             entry->gid().is_ipv4_mapped() != destination.is_ipv4_mapped()) {
    problems.add([&](text_writer& writer) {
      writer.put("sgid index ").put(source).put(" is ").put(entry->gid());
      writer.put(", of another address family than the peer's ").put(destination).put("; ");
      put_usable_gids(writer, context, port);
    });
  } else if (problems.empty() && is_code(code, std::errc::timed_out)) {
    problems.add("no neighbour answered for {}, from {} (sgid index {}): check the peer's address",
                 {destination, entry->gid(), source});
  } else if (problems.empty() && is_code(code, std::errc::invalid_argument)) {
    problems.add(
        "possible causes: there is no route from {} (sgid index {}) to {}, or the device refuses "
        "another field of the address",
        {entry->gid(), source, destination});
  } else if (problems.empty() && is_about_routing(code)) {
    problems.add(
        "no route was found from {} (sgid index {}) to {}: check the routes, the peer's address, "
        "and that its interface is up",
        {entry->gid(), source, destination});
  }
}

ADVERB_FUNC void explain_address(problem_list& problems, const std::error_code& code,
                                 context_ref context, const port_attributes& port,
                                 const ibv_ah_attr& address) {
  if (address.is_global != 0)
    explain_route(problems, code, context, port_number{address.port_num}, address.grh);
  else if (port.needs_global_route())
    problems.add(port.is_ethernet()
                     ? "the address has no global route (GRH), which Ethernet links need"
                     : "the address has no global route (GRH), which this port needs");
}

}  // namespace adverb::inline ADVERB_ABI::detail
