// SPDX-License-Identifier: MIT
// A connection in one line.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

#include <adverb/cm/connect_options.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/detail/connect_attempt.hpp>
#include <adverb/cm/detail/host_addresses.hpp>
#include <adverb/cm/prepare.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Hands over what was tried for, or reports what is to be told of the attempts.
template <class Made>
[[nodiscard]] Made outcome(on_failure policy, Made&& made, const failed_attempts& failed) {
  if (made)
    policy.clear();
  else if (failed.told())
    policy.report(failed.told());
  return std::move(made);
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// Connects to what listens at an address:
///
///     auto connection = cm::connect(address, {.queue_pair = {.max_recv_wr = 16}},
///                                   [&](auto& ready) { post_receives(ready.queue_pair()); });
///
/// `prepare` sees the connector when the queue pair is there and before it is connected: receives
/// that are posted there are in place before the peer can send, which iWARP needs.
/// Wraps: rdma_create_id(3), rdma_create_ep(3), rdma_resolve_addr(3), rdma_resolve_route(3),
/// rdma_create_qp(3), rdma_connect(3).
template <transport Transport = transport::rc,
          preparation<connector<Transport, step::ready>> Prepare>
[[nodiscard]] connection<Transport> connect(const socket_address& address,
                                            const connect_options& options, Prepare&& prepare,
                                            on_failure policy = throwing{}) {
  connection<Transport> made;
  detail::failed_attempts failed;
  static_cast<void>(detail::attempt_to_connect(made, failed, address, options, prepare));
  return detail::outcome(policy, std::move(made), failed);
}
template <transport Transport = transport::rc>
[[nodiscard]] connection<Transport> connect(const socket_address& address,
                                            const connect_options& options = {},
                                            on_failure policy = throwing{}) {
  return connect<Transport>(address, options, detail::no_preparation, policy);
}

/// Connects to what listens on a port of a host, which is named, or written in numbers:
///
///     auto connection = cm::connect("storage-1", 7471);
///
/// The addresses of the host are tried one after the other, each with the time limits of the
/// options, and `prepare` sees the connector of each that a way leads to. It ends with the first
/// that accepts, with a peer whose program rejects, and with a signal handler (EINTR). Of several
/// that failed, the failure of the one that came furthest is reported; it names the address.
///
/// Blocks while a name server is asked. Wraps also: getaddrinfo(3), rdma_getaddrinfo(3).
template <transport Transport = transport::rc,
          preparation<connector<Transport, step::ready>> Prepare>
[[nodiscard]] connection<Transport> connect(std::string_view host, std::uint16_t port,
                                            const connect_options& options, Prepare&& prepare,
                                            on_failure policy = throwing{}) {
  connection<Transport> made;
  detail::failed_attempts failed;
  detail::for_each_address_of(
      host, port, options.family_to_try(), policy, [&](const socket_address& to) {
        return detail::attempt_to_connect(made, failed, to, options, prepare);
      });
  return detail::outcome(policy, std::move(made), failed);
}
template <transport Transport = transport::rc>
[[nodiscard]] connection<Transport> connect(std::string_view host, std::uint16_t port,
                                            const connect_options& options = {},
                                            on_failure policy = throwing{}) {
  return connect<Transport>(host, port, options, detail::no_preparation, policy);
}

/// Does not compile: says what comes first.
template <transport Transport = transport::rc, std::integral Port, class... Rest>
void connect(Port, std::string_view, const Rest&...) {
  static_assert(sizeof(Port) == 0, "the host comes first, then the port: connect(host, port)");
}

/// The way to a host, for programs that make things on the device before they connect: to the first
/// of the host's addresses that an RDMA device leads to, as `connector::resolve` does for one.
///
///     auto way = cm::resolve("storage-1", 7471);
///     protection_domain domain{way.context()};
///     auto ready = way.create_queue_pair({.max_recv_wr = 16}, domain);
///
/// Whether the peer answers there is not known yet: `connect` also tries the other addresses when
/// it does not. Blocks while a name server is asked.
/// Wraps: getaddrinfo(3), rdma_getaddrinfo(3), rdma_create_id(3), rdma_create_ep(3),
/// rdma_resolve_addr(3), rdma_resolve_route(3).
template <transport Transport = transport::rc>
[[nodiscard]] connector<Transport, step::route_resolved> resolve(
    std::string_view host, std::uint16_t port, const resolve_options& options = {},
    on_failure policy = throwing{}) {
  connector<Transport, step::route_resolved> found;
  detail::failed_attempts failed;
  detail::for_each_address_of(host, port, options.from.family(), policy,
                              [&](const socket_address& to) {
                                failure why;
                                found = connector<Transport>::resolve(to, options, why);
                                return !found && failed.note(to, why, detail::attempt_lacks::way);
                              });
  return detail::outcome(policy, std::move(found), failed);
}

}  // namespace adverb::inline ADVERB_ABI::cm
