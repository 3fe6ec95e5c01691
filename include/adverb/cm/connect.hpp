// SPDX-License-Identifier: MIT
// Connecting in one call.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <netdb.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// All IP addresses of a host from the name service, of one family or both. librdmacm's own lookup
/// returns only the first.
class host_addresses {
 public:
  host_addresses(std::string_view host, std::uint16_t port, cm::address_family family,
                 on_failure policy);
  host_addresses(const host_addresses&) = delete;
  host_addresses& operator=(const host_addresses&) = delete;
  ~host_addresses() {
    if (first_ != nullptr) ::freeaddrinfo(first_);
  }

  /// Calls `function` with each address, best first, until it returns false.
  template <class Function>
  void for_each(const Function& function) const {
    for (const addrinfo* each = first_; each != nullptr; each = each->ai_next)
      if (!function(cm::socket_address::from_native(each->ai_addr, each->ai_addrlen))) return;
  }

 private:
  addrinfo* first_ = nullptr;
};

/// Calls `function` with each address of a host until it returns false. Native addresses come from
/// librdmacm, because no name service has them.
template <class Function>
void for_each_address_of(std::string_view host, std::uint16_t port, cm::address_family family,
                         on_failure policy, const Function& function) {
  if (family == cm::address_family::infiniband) {
    const cm::address_list found{host, port, {.family = family}, policy};
    for (const cm::address_info& each : found)
      if (!function(each.destination())) return;
    return;
  }
  host_addresses{host, port, family, policy}.for_each(function);
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// Options for connecting.
struct connect_options {
  /// Completion queues that are omitted are created with the queue pair.
  queue_pair_options queue_pair{};
  /// The protection domain of the queue pair. The default is librdmacm's.
  protection_domain_ref domain{};
  /// The parameters to send with the connection request.
  connection_parameters connection{};
  /// The local address to connect from. Empty selects any.
  socket_address from{};
  /// The address family to use if the host has several. The default is that of `from`, or all.
  address_family family = address_family::unspecified;
  /// The time limit of each step, for each address that is tried. `resolve_timeout` applies to the
  /// address and again to the route; `connect_timeout` applies to the peer's answer. The lookup of
  /// a host name takes as long as the name service needs.
  timeout resolve_timeout = detail::seconds{2};
  /// The time for the connection after the addresses are known.
  timeout connect_timeout = detail::seconds{10};

  /// Returns the address family to try.
  [[nodiscard]] address_family family_to_try() const noexcept {
    return family == address_family::unspecified ? from.family() : family;
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// The part that a failed attempt lacked. Later values mean more progress and a clearer failure.
enum class attempt_lacks : std::uint8_t {
  way,
  queue_pair,
  answer,
  consent,
  /// Trying another address is useless or unwanted.
  permission_to_go_on,
};

/// Returns true if the peer's program seems to have rejected. A kernel rejects in the same way, but
/// without private data, if a program listens on addresses of another family only.
[[nodiscard]] inline bool seems_program_s(const cm::rejection& rejection) noexcept {
  return rejection.reason == cm::reject_reason::by_the_program ||
         rejection.reason == cm::reject_reason::unspecified;
}

/// The failed attempts: the first failure of those that got furthest, and the addresses that are
/// still worth trying.
class failed_attempts {
 public:
  /// Returns false for other addresses of a program that has rejected. An address of another family
  /// belongs to another listener.
  [[nodiscard]] bool may_try(const cm::socket_address& next) const noexcept {
    return next.family() != rejecting_family_;
  }

  /// Records a failed attempt. Returns false if no other address is to be tried.
  bool note(const cm::socket_address& to, const failure& why, attempt_lacks missing,
            const std::optional<cm::rejection>& rejection = {});

  [[nodiscard]] const failure& told() const noexcept { return told_; }

 private:
  failure told_;
  attempt_lacks missing_{};
  cm::address_family rejecting_family_ = cm::address_family::unspecified;
};

/// Connects to one address, or records the failure. Returns true if another address is to be tried.
template <transport Transport, class Prepare>
[[nodiscard]] bool attempt_to_connect(cm::connection<Transport>& made, failed_attempts& failed,
                                      const cm::socket_address& to,
                                      const cm::connect_options& options, Prepare& prepare) {
  static_assert(
      Transport != transport::ud,
      "datagrams (UD) have no connection: create a datagram_endpoint and call its resolve_peer()");
  static_assert(Transport != transport::xrc_recv,
                "an XRC target cannot connect, only listen: use an initiator, transport::xrc_send");
  if constexpr (Transport != transport::ud) {
    if (!failed.may_try(to)) return true;
    failure why;
    auto far = cm::connector<Transport>::resolve(
        to, {.from = options.from, .timeout = options.resolve_timeout}, why);
    if (!far) return failed.note(to, why, attempt_lacks::way);
    auto ready = far.create_queue_pair(options.queue_pair, options.domain, why);
    if (!ready || !prepared(why, "cm::connect", ready, prepare))
      return failed.note(to, why, attempt_lacks::queue_pair);
    made = ready.connect(options.connection, options.connect_timeout, why);
    return !made && failed.note(to, why, attempt_lacks::answer, ready.rejection());
  } else {
    return false;
  }
}

/// Returns the result, or reports the failure of the attempts.
template <class Made>
[[nodiscard]] Made outcome(on_failure policy, Made&& made, const failed_attempts& failed) {
  if (made)
    policy.clear();
  else if (failed.told())
    policy.report(failed.told());
  return std::move(made);
}

/// True if a host is followed by its port.
template <class...>
inline constexpr bool port_first = false;
template <class First, class... Rest>
inline constexpr bool port_first<First, Rest...> = std::convertible_to<First, std::uint16_t>;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// Connects to a listener at an address:
///
///     auto connection = cm::connect(address, {.queue_pair = {.max_recv_wr = 16}},
///                                   [&](auto& ready) { post_receives(ready.queue_pair()); });
///
/// Calls `prepare` with the connector between the creation of the queue pair and the connection.
/// Receives that `prepare` posts are in place before the peer can send, which iWARP requires.
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
/// Rejected at compile time: explains how to get an address from a text.
template <transport Transport = transport::rc, detail::address_text Text, class... Rest>
  requires(!detail::port_first<Rest...>)
[[nodiscard]] connection<Transport> connect(const Text&, const Rest&...) {
  detail::reject_address_text<Text>();
  return {};
}

/// Connects to a listener on a port of a host, given by name or numeric address:
///
///     auto connection = cm::connect("storage-1", 7471);
///
/// Tries the addresses of the host in turn, each with the time limits of the options. Calls
/// `prepare` for each address with a route. Stops at the first address that accepts. Also stops if
/// the peer's program rejects with private data, a signal handler runs (EINTR), or the descriptor
/// of a time limit becomes readable (ECANCELED). A rejection without private data skips the other
/// addresses of its family. If every address fails, reports the failure of the attempt that got
/// furthest, with its address.
///
/// Blocks during name resolution. Wraps also: getaddrinfo(3), rdma_getaddrinfo(3).
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

/// Fails to compile, with a message that gives the order of the arguments.
template <transport Transport = transport::rc, std::integral Port, class... Rest>
void connect(Port, std::string_view, const Rest&...) {
  static_assert(sizeof(Port) == 0, "the host comes first, then the port: connect(host, port)");
}

/// Resolves a host to a connector, for programs that create objects on the device before they
/// connect. Uses the first address of the host to which an RDMA device leads, as
/// `connector::resolve` does for one address.
///
///     auto way = cm::resolve("storage-1", 7471);
///     protection_domain domain{way.context()};
///     auto ready = way.create_queue_pair({.max_recv_wr = 16}, domain);
///
/// The peer may still be unreachable at that address; `connect` then also tries the others. Blocks
/// during name resolution. Wraps: getaddrinfo(3), rdma_getaddrinfo(3), rdma_create_id(3),
/// rdma_create_ep(3), rdma_resolve_addr(3), rdma_resolve_route(3).
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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/connect.ipp>
#endif
