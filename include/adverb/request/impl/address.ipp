// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/request/address.hpp>
#include <adverb/request/detail/explain_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Explains why the neighbour on a route was not found: by its GIDs, else by the error.
[[gnu::cold]] ADVERB_FUNC void explain_resolution(text_writer& writer, const std::error_code& code,
                                                  context_ref context, const address& way) {
  problem_list problems{writer};
  explain_route(problems, {}, context, way.port, way.native().grh);
  if (!problems.empty()) return;
  if (is_code(code, std::errc::host_unreachable))
    problems.add("no neighbour was found on the route to {} from GID {}",
                 {way.route->destination, way.route->source});
  else if (is_code(code, std::errc::invalid_argument))
    problems.add(
        "possible causes: no network interface has the address of GID {}, or another one "
        "leads to {}",
        {way.route->source, way.route->destination});
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC address address::from_native(const ibv_ah_attr& native) noexcept {
  address made{.port = port_number{native.port_num},
               .destination = lid{native.dlid},
               .service_level = adverb::service_level{native.sl},
               .source_path_bits = native.src_path_bits,
               .static_rate = adverb::rate{native.static_rate}};
  if (native.is_global != 0)
    made.route = global_route{.destination = gid{native.grh.dgid},
                              .source = gid_index{native.grh.sgid_index},
                              .flow_label = native.grh.flow_label,
                              .hop_limit = native.grh.hop_limit,
                              .traffic_class = native.grh.traffic_class};
  return made;
}

ADVERB_FUNC ibv_ah_attr address::native() const noexcept {
  ibv_ah_attr native{};
  if (route) {
    native.grh.dgid = route->destination.native();
    native.grh.flow_label = route->flow_label;
    native.grh.sgid_index = static_cast<std::uint8_t>(route->source);
    native.grh.hop_limit = route->hop_limit;
    native.grh.traffic_class = route->traffic_class;
    native.is_global = 1;
  }
  native.dlid = static_cast<std::uint16_t>(destination);
  native.sl = static_cast<std::uint8_t>(service_level);
  native.src_path_bits = source_path_bits;
  native.static_rate = static_cast<std::uint8_t>(static_rate);
  native.port_num = static_cast<std::uint8_t>(port);
  return native;
}

ADVERB_FUNC ethernet_destination resolve_ethernet(context_ref context, const address& way,
                                                  on_failure policy) {
  constexpr std::uint16_t untagged = 0xffff;
  constexpr const char* verb = "ibv_resolve_eth_l2_from_gid";
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
          description.explain("the address has no global route (GRH), whose GIDs are needed");
          return;
        }
        description.explain([&](text_writer& writer) {
          detail::explain_resolution(writer, description.code(), context, way);
        });
      });
  if (!resolved) return {};
  if (vlan != untagged) found.vlan = vlan;
  return found;
}

}  // namespace adverb::inline ADVERB_ABI
