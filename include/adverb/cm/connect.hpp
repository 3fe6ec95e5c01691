// SPDX-License-Identifier: MIT
// A connection in one line.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <adverb/cm/address_info.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/prepare.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a connection is made from the side that asks for it.
struct connect_options {
  /// Without completion queues they are made with the queue pair.
  queue_pair_options queue_pair{};
  /// librdmacm's own unless it is said here.
  protection_domain_ref domain{};
  /// What goes with the request to connect.
  connection_options connection{};
  /// The address of this machine to connect from; any unless it is said here.
  socket_address from{};
  /// Of a host with addresses of several families, the one to take; that of `from`, or the first,
  /// unless it is said here.
  address_family family = address_family::unspecified;
  /// How long each step may take: until the device and the neighbour are found, until the route is,
  /// and until the peer has accepted. To resolve the name of a host takes as long as the name
  /// service does.
  timeout address_timeout = timeout::seconds(2);
  timeout route_timeout = timeout::seconds(2);
  timeout connect_timeout = timeout::seconds(10);
};

/// Connects to what listens at an address:
///
///     auto connection = cm::connect(address, {.queue_pair = {.max_recv_wr = 16}},
///                                   [&](auto& ready) { post_receives(ready.queue_pair()); });
///
/// `prepare` sees the connector when the queue pair is there and before it is connected: receives
/// that are posted there are in place before the peer can send, which iWARP needs.
/// Wraps: rdma_create_id(3), rdma_resolve_addr(3), rdma_resolve_route(3), rdma_create_qp(3),
/// rdma_connect(3).
template <transport Transport = transport::rc,
          preparation<connector<Transport, step::ready>> Prepare, error_policy Policy = throwing>
[[nodiscard]] connection<Transport> connect(const socket_address& address,
                                            const connect_options& options, Prepare&& prepare,
                                            Policy&& policy = {}) {
  auto start = connector<Transport>::create(std::forward<Policy>(policy));
  if (!start) return {};
  auto near =
      start.resolve_address(address, {.from = options.from, .timeout = options.address_timeout},
                            std::forward<Policy>(policy));
  if (!near) return {};
  auto far = near.resolve_route(options.route_timeout, std::forward<Policy>(policy));
  if (!far) return {};
  auto ready =
      far.create_queue_pair(options.queue_pair, options.domain, std::forward<Policy>(policy));
  if (!ready || !detail::prepared(std::forward<Policy>(policy), "cm::connect", ready, prepare))
    return {};
  return ready.connect(options.connection, options.connect_timeout, std::forward<Policy>(policy));
}
template <transport Transport = transport::rc, error_policy Policy = throwing>
[[nodiscard]] connection<Transport> connect(const socket_address& address,
                                            const connect_options& options = {},
                                            Policy&& policy = {}) {
  return connect<Transport>(address, options, detail::no_preparation, std::forward<Policy>(policy));
}

/// Connects to what listens on a port of a host, which is named, or written in numbers:
///
///     auto connection = cm::connect("storage-1", 7471);
///
/// Blocks while a name server is asked. Wraps also: rdma_getaddrinfo(3).
template <transport Transport = transport::rc,
          preparation<connector<Transport, step::ready>> Prepare, error_policy Policy = throwing>
[[nodiscard]] connection<Transport> connect(std::string_view host, std::uint16_t port,
                                            const connect_options& options, Prepare&& prepare,
                                            Policy&& policy = {}) {
  const bool same_as_from = options.family == address_family::unspecified;
  const address_list found{host,
                           port,
                           {.family = same_as_from ? options.from.family() : options.family,
                            .transport = Transport,
                            .from = options.from},
                           std::forward<Policy>(policy)};
  if (found.empty()) return {};
  return connect<Transport>(found.front().destination(), options, std::forward<Prepare>(prepare),
                            std::forward<Policy>(policy));
}
template <transport Transport = transport::rc, error_policy Policy = throwing>
[[nodiscard]] connection<Transport> connect(std::string_view host, std::uint16_t port,
                                            const connect_options& options = {},
                                            Policy&& policy = {}) {
  return connect<Transport>(host, port, options, detail::no_preparation,
                            std::forward<Policy>(policy));
}

}  // namespace adverb::inline ADVERB_ABI::cm
