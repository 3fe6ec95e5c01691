// SPDX-License-Identifier: MIT
// Connectors: the side of a connection that asks for it, step by step.
#pragma once

#include <cerrno>
#include <optional>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/connector_of_own_pair.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/create_endpoint.hpp>
#include <adverb/cm/detail/state_when_made.hpp>
#include <adverb/cm/rejection.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How an address is resolved.
struct resolve_options {
  /// The address of this machine to connect from; any unless it is said here.
  socket_address from{};
  adverb::timeout timeout = adverb::timeout::seconds(2);
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// What a connector becomes as its queue pair is made: a datagram pair is complete, and needs no
/// connection.
template <transport Transport>
struct connector_with_queue_pair {
  using type = cm::connector<Transport, cm::step::ready>;
};
template <>
struct connector_with_queue_pair<transport::ud> {
  using type = cm::datagram_endpoint;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// The set-up of a connection from the side that asks for it. What may be done next is in its type:
///
///     auto start = cm::connector<transport::rc>::create();
///     auto near = start.resolve_address(address);
///     auto far = near.resolve_route();
///     auto ready = far.create_queue_pair({.max_send_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<transport::rc> connection = ready.connect();
///
/// Each step waits for its event, and moves from the connector, but only when it succeeds: one that
/// failed before `connect` can be tried again, and one whose event did not come (ETIMEDOUT, or
/// EINTR when a signal handler ran) waits on when it is tried again, `connect` too. `cm::connect`
/// does all of them.
///
/// With datagrams there is nothing to connect: `resolve_peer` asks where to send them, in the place
/// of `connect`, and the queue pair that sends to any number of peers is a `datagram_endpoint`.
template <transport Transport, step Step = step::start>
class [[nodiscard]] connector {
 public:
  /// Empty.
  connector() noexcept = default;

  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3).
  [[nodiscard]] static connector<Transport, step::start> create(on_failure policy = throwing{}) {
    static_assert(!detail::needs_endpoint(Transport),
                  "a connector of UC or XRC starts with its address: resolve(address)");
    return {detail::cm_session::create(port_space_of(Transport), policy)};
  }

  /// The first three steps in one: finds the device, the neighbour and the way there. UC and XRC
  /// begin so, and librdmacm waits two seconds for each, whatever the options say.
  /// Wraps: rdma_create_ep(3), rdma_resolve_addr(3), rdma_resolve_route(3).
  [[nodiscard]] static connector<Transport, step::route_resolved> resolve(
      const socket_address& to, const resolve_options& options = {},
      on_failure policy = throwing{}) {
    if constexpr (detail::needs_endpoint(Transport)) {
      cm::identifier id = detail::create_endpoint(policy, Transport, options.from, to);
      if (!id) return {};
      return {detail::cm_session::of_request(std::move(id), policy)};
    } else {
      auto start = connector<Transport, step::start>::create(policy);
      if (!start) return {};
      auto near = start.resolve_address(to, options, policy);
      if (!near) return {};
      return near.resolve_route(options.timeout, policy);
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// For what is not here: options, enhancements.
  [[nodiscard]] identifier_ref id() const noexcept { return session_.id; }

  /// The device that leads to the address. It belongs to librdmacm, and outlives the connector.
  [[nodiscard]] context_ref context() const noexcept {
    static_assert(Step != step::start,
                  "the device is known when the address is resolved: "
                  "resolve_address() first");
    return session_.id.context();
  }
  /// The domain that the queue pair is in, or will be in if none is given.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    static_assert(Step != step::start,
                  "the device is known when the address is resolved: "
                  "resolve_address() first");
    return session_.id.protection_domain();
  }

  /// Finds the device and the neighbour for an address. Wraps: rdma_resolve_addr(3).
  [[nodiscard]] connector<Transport, step::address_resolved> resolve_address(
      const socket_address& to, const resolve_options& options = {},
      on_failure policy = throwing{}) {
    static_assert(Step == step::start, "the address is resolved already");
    if (session_.under_way && session_.id.peer_address() != to) {
      report_under_way(policy);
      return {};
    }
    const auto event = session_.take_step(
        {event_type::address_resolved}, options.timeout + margin, "rdma_resolve_addr",
        [&](auto&& start_policy) {
          session_.id.resolve_address(to, options.from, options.timeout,
                                      std::forward<decltype(start_policy)>(start_policy));
        },
        policy);
    if (!event) return {};
    return become<step::address_resolved>();
  }

  /// Finds the way there. Wraps: rdma_resolve_route(3).
  [[nodiscard]] connector<Transport, step::route_resolved> resolve_route(
      timeout limit = timeout::seconds(2), on_failure policy = throwing{}) {
    static_assert(Step == step::address_resolved,
                  "the route is resolved after the address, once: resolve_address() first");
    const auto event = session_.take_step(
        {event_type::route_resolved}, limit + margin, "rdma_resolve_route",
        [&](auto&& start_policy) {
          session_.id.resolve_route(limit, std::forward<decltype(start_policy)>(start_policy));
        },
        policy);
    if (!event) return {};
    return become<step::route_resolved>();
  }

  /// Makes the queue pair. Without a domain it is in librdmacm's; without completion queues they
  /// are made with it. One for datagrams needs no route, and is a `datagram_endpoint` at once.
  /// Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  [[nodiscard]] typename detail::connector_with_queue_pair<Transport>::type create_queue_pair(
      const queue_pair_options& options = {}, protection_domain_ref domain = {},
      on_failure policy = throwing{}) {
    if constexpr (Transport == transport::ud) {
      static_assert(
          Step == step::address_resolved || Step == step::route_resolved,
          "a datagram pair is made once the address is resolved: resolve_address() first");
      return datagram_endpoint::make(std::move(session_), options, domain, policy);
    } else {
      static_assert(Step == step::route_resolved,
                    "a queue pair is made once the route is resolved: resolve_route() first");
      session_.id.template create_queue_pair<Transport>(options, domain, policy);
      if (policy.failed()) return {};
      return become<step::ready>();
    }
  }

  /// Takes a queue pair that the program made on this device, and puts it into INIT. Moves from
  /// both, but only when it succeeds. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connector_of_own_pair<Transport> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: a pair of one's own needs no identifier");
    static_assert(Step == step::route_resolved,
                  "a queue pair is used once the route is resolved: resolve_route() first");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_), std::move(fresh)};
  }

  /// The queue pair before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, detail::state_when_made(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "there is no queue pair yet: create_queue_pair() first");
    return session_.id.template queue_pair<Transport>()
        .template as<detail::state_when_made(Transport)>();
  }

  /// Asks the listener at the other side which queue pair datagrams (UD) are to be sent to: to the
  /// peer that this gives, any pair in the domain can send. When it fails the connector is of no
  /// more use, but for `rejection`. Wraps: rdma_connect(3).
  [[nodiscard]] datagram_peer resolve_peer(protection_domain_ref domain,
                                           const peer_options& options = {},
                                           on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "only datagrams (UD) go to a peer without a connection: connect()");
    static_assert(Transport != transport::ud || Step == step::route_resolved,
                  "a peer is asked once the route is resolved: resolve_route() first");
    const auto event = established({.private_data = options.private_data}, options.timeout, policy);
    if (!event) return {};
    return {domain, event->datagram_parameters(), event->private_data(), policy};
  }

  /// Asks the listener at the other side for the connection, and waits until it is there. When the
  /// answer is no the connector is of no more use, but for `rejection`. Wraps: rdma_connect(3).
  [[nodiscard]] connection<Transport> connect(const connection_options& options = {},
                                              timeout limit = timeout::seconds(10),
                                              on_failure policy = throwing{}) {
    static_assert(
        Transport != transport::ud,
        "datagrams (UD) have no connections: resolve_peer() finds out where to send them");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: create_queue_pair() first");
    const auto event = established(options, limit, policy);
    if (!event) return {};
    return {std::move(session_), event->private_data(), event->parameters()};
  }

  /// Why the peer rejected, and what it sent along; nothing unless `connect` or `resolve_peer`
  /// failed because of it.
  [[nodiscard]] const std::optional<cm::rejection>& rejection() const noexcept {
    static_assert(
        Step == step::ready || (Transport == transport::ud && Step == step::route_resolved),
        "a connector that was not connected was not rejected");
    return rejection_;
  }

 private:
  template <transport, step>
  friend class connector;

  connector(detail::cm_session&& session) noexcept : session_{std::move(session)} {}

  template <step Next>
  [[nodiscard]] connector<Transport, Next> become() noexcept {
    return {std::move(session_)};
  }

  /// The kernel ends what it resolves by itself when the time is up, and tells so; its answer is
  /// given this much longer to come.
  static constexpr timeout margin = timeout::seconds(1);

  void report_under_way(on_failure policy) const {
    policy.report(EALREADY, "rdma_resolve_addr", [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(session_.id.native_handle())(description);
      description.explain("this address is still being resolved");
    });
  }

  /// Asks the peer, and waits for its answer.
  [[nodiscard]] std::optional<event> established(const connection_options& options, timeout limit,
                                                 on_failure policy) {
    return session_.take_step(
        {event_type::established}, limit, "rdma_connect",
        [&](auto&& start_policy) {
          session_.id.connect(options, std::forward<decltype(start_policy)>(start_policy));
        },
        policy,
        [this](const event& failed) {
          if (failed.is_rejection())
            rejection_ = cm::rejection{failed.reason(), failed.private_data()};
        });
  }

  detail::cm_session session_;
  std::optional<cm::rejection> rejection_;
};

inline datagram_peer datagram_endpoint::resolve_peer(const socket_address& to,
                                                     const peer_options& options,
                                                     on_failure policy) const {
  if (!detail::check_present(policy, "rdma_resolve_addr", id().native_handle())) return {};
  auto start = connector<transport::ud>::create(policy);
  if (!start) return {};
  // From the same address, but a port of its own.
  const resolve_options how{.from = local_address().with_port(0), .timeout = options.timeout};
  auto near = start.resolve_address(to, how, policy);
  if (!near) return {};
  auto far = near.resolve_route(options.timeout, policy);
  if (!far) return {};
  return far.resolve_peer(protection_domain(), options, policy);
}

}  // namespace adverb::inline ADVERB_ABI::cm
