// SPDX-License-Identifier: MIT
// A connection in one line.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/connector.hpp>
#include <adverb/cm/detail/host_addresses.hpp>
#include <adverb/cm/prepare.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a connection is made from the side that asks for it.
struct connect_options {
  /// Without completion queues they are made with the queue pair.
  queue_pair_options queue_pair{};
  /// librdmacm's own unless it is said here.
  protection_domain_ref domain{};
  /// What goes with the request to connect.
  connection_parameters connection{};
  /// The address of this machine to connect from; any unless it is said here.
  socket_address from{};
  /// Of a host with addresses of several families, the one to take; that of `from`, or all, unless
  /// it is said here.
  address_family family = address_family::unspecified;
  /// How long each step may take, for each address that is tried: until the device and the
  /// neighbour are found, and the same again for the route; and until the peer has answered. To
  /// resolve the name of a host takes as long as the name service does.
  timeout resolve_timeout = detail::seconds{2};
  timeout connect_timeout = detail::seconds{10};

  /// The family of the addresses that are tried.
  [[nodiscard]] address_family family_to_try() const noexcept {
    return family == address_family::unspecified ? from.family() : family;
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// What an attempt failed for; the further it came, the more its failure tells.
enum class attempt_lacks : std::uint8_t {
  way,
  queue_pair,
  answer,
  consent,
  /// It is no use, or not wanted, to try another address.
  permission_to_go_on,
};

/// Whether a rejection is of the peer's program, as far as can be told: a kernel rejects alike, but
/// sends no words, where somebody listens on the addresses of another family alone.
[[nodiscard]] inline bool seems_program_s(const cm::rejection& rejection) noexcept {
  return rejection.reason == cm::reject_reason::by_the_program ||
         rejection.reason == cm::reject_reason::unspecified;
}
[[nodiscard]] inline bool has_words(const cm::rejection& rejection) noexcept {
  const auto bytes = rejection.private_data.bytes();
  return std::any_of(bytes.begin(), bytes.end(),
                     [](std::byte each) { return each != std::byte{}; });
}

/// What is to be told of several attempts that failed: the first failure of those that came
/// furthest; and which addresses are still worth an attempt.
class failed_attempts {
 public:
  /// A program that has rejected is not asked again by another of its addresses; one that listens
  /// on another family is another one.
  [[nodiscard]] bool may_try(const cm::socket_address& next) const noexcept {
    return next.family() != rejecting_family_;
  }

  /// Takes note of one. False when no other address is to be tried.
  bool note(const cm::socket_address& to, const failure& why, attempt_lacks missing,
            const std::optional<cm::rejection>& rejection = {}) {
    if (why.code() == std::errc::connection_refused) missing = attempt_lacks::consent;
    if (rejection && seems_program_s(*rejection)) {
      missing = has_words(*rejection) ? attempt_lacks::permission_to_go_on : attempt_lacks::consent;
      rejecting_family_ = to.family();
    }
    if (why.code() == std::errc::interrupted || why.code() == std::errc::operation_canceled)
      missing = attempt_lacks::permission_to_go_on;
    if (!told_ || missing > missing_) {
      told_ = why;
      missing_ = missing;
    }
    return missing != attempt_lacks::permission_to_go_on;
  }

  [[nodiscard]] const failure& told() const noexcept { return told_; }

 private:
  failure told_;
  attempt_lacks missing_{};
  cm::address_family rejecting_family_ = cm::address_family::unspecified;
};

/// Connects to one address, or takes note of why not. True when another one is to be tried.
template <transport Transport, class Prepare>
[[nodiscard]] bool attempt_to_connect(cm::connection<Transport>& made, failed_attempts& failed,
                                      const cm::socket_address& to,
                                      const cm::connect_options& options, Prepare& prepare) {
  static_assert(Transport != transport::ud,
                "datagrams (UD) have no connections: a datagram_endpoint sends them, and its "
                "resolve_peer() finds out where to");
  static_assert(Transport != transport::xrc_recv,
                "the target of XRC listens; what connects is its initiator: transport::xrc_send");
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
