// SPDX-License-Identifier: MIT
// Connectors: the side of a connection that asks for it, step by step.
#pragma once

#include <optional>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Why the peer rejected a connection.
struct rejection {
  reject_reason reason{};
  cm::private_data private_data;
};

/// How an address is resolved.
struct resolve_options {
  /// The address of this machine to connect from; any unless it is said here.
  socket_address from{};
  adverb::timeout timeout = adverb::timeout::seconds(2);
};

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
/// failed before `connect` can be tried again, unless a signal handler ran (EINTR). `cm::connect`
/// does all of them.
template <transport Transport, step Step = step::start>
class [[nodiscard]] connector {
 public:
  /// Empty.
  connector() noexcept = default;

  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] static connector<Transport, step::start> create(Policy&& policy = {}) {
    return {detail::cm_session::create(port_space_of(Transport), std::forward<Policy>(policy))};
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
  template <error_policy Policy = throwing>
  [[nodiscard]] connector<Transport, step::address_resolved> resolve_address(
      const socket_address& to, const resolve_options& options = {}, Policy&& policy = {}) {
    static_assert(Step == step::start, "the address is resolved already");
    session_.id.resolve_address(to, options.from, options.timeout, std::forward<Policy>(policy));
    return after(event_type::address_resolved, options.timeout, "rdma_resolve_addr",
                 std::forward<Policy>(policy), [this] { return become<step::address_resolved>(); });
  }

  /// Finds the way there. Wraps: rdma_resolve_route(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] connector<Transport, step::route_resolved> resolve_route(
      timeout limit = timeout::seconds(2), Policy&& policy = {}) {
    static_assert(Step == step::address_resolved,
                  "the route is resolved after the address, once: resolve_address() first");
    session_.id.resolve_route(limit, std::forward<Policy>(policy));
    return after(event_type::route_resolved, limit, "rdma_resolve_route",
                 std::forward<Policy>(policy), [this] { return become<step::route_resolved>(); });
  }

  /// Makes the queue pair. Without a domain it is in librdmacm's; without completion queues they
  /// are made with it. Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] connector<Transport, step::ready> create_queue_pair(
      const queue_pair_options& options = {}, protection_domain_ref domain = {},
      Policy&& policy = {}) {
    static_assert(Step == step::route_resolved,
                  "a queue pair is made once the route is resolved: resolve_route() first");
    session_.id.template create_queue_pair<Transport>(options, domain,
                                                      std::forward<Policy>(policy));
    if (detail::failed(policy)) return {};
    return become<step::ready>();
  }

  /// The queue pair before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, detail::state_when_made(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "there is no queue pair yet: create_queue_pair() first");
    return session_.id.template queue_pair<Transport>()
        .template as<detail::state_when_made(Transport)>();
  }

  /// Asks the listener at the other side for the connection, and waits until it is there. When it
  /// fails the connector is of no more use, but for `rejection`. Wraps: rdma_connect(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] connection<Transport> connect(const connection_options& options = {},
                                              timeout limit = timeout::seconds(10),
                                              Policy&& policy = {}) {
    static_assert(Step == step::ready,
                  "a connection needs a queue pair: create_queue_pair() first");
    session_.id.connect(options, std::forward<Policy>(policy));
    if (detail::failed(policy)) return {};
    auto event = session_.wait_for(event_type::established, limit, "rdma_connect",
                                   std::forward<Policy>(policy), [this](const cm::event& failed) {
                                     if (failed.type() == event_type::rejected)
                                       rejection_ =
                                           cm::rejection{failed.reason(), failed.private_data()};
                                   });
    if (!event) return {};
    const cm::private_data data{event->private_data()};
    const connection_parameters parameters = event->parameters();
    event.reset();
    return {std::move(session_), data, parameters};
  }

  /// Why the peer rejected, and what it sent along; nothing unless `connect` failed because of it.
  [[nodiscard]] const std::optional<cm::rejection>& rejection() const noexcept {
    static_assert(Step == step::ready, "a connector that was not connected was not rejected");
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

  /// What `next` gives, once the event is there.
  template <error_policy Policy, class Next>
  [[nodiscard]] auto after(event_type wanted, timeout limit, std::string_view verb, Policy&& policy,
                           const Next& next) -> decltype(next()) {
    if (detail::failed(policy)) return {};
    // The kernel itself gives up after the limit, and only when it has told so can it be asked
    // again.
    const auto event =
        session_.wait_for(wanted, limit + timeout::seconds(1), verb, std::forward<Policy>(policy));
    if (!event) return {};
    return next();
  }

  detail::cm_session session_;
  std::optional<cm::rejection> rejection_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
