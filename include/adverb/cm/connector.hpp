// SPDX-License-Identifier: MIT
// Connectors: the active side of a connection, step by step.
#pragma once

#include <cerrno>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Options for resolving an address and a route.
struct resolve_options {
  /// The local address to connect from. Empty selects any.
  socket_address from{};
  /// The time for the resolution.
  adverb::timeout timeout = detail::seconds{2};
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Selects the steps that have `finish`, and its return type.
template <transport Transport, cm::step Step, cm::pair_owner Owner>
struct connector_step {
  using finished = bool;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::start, Owner> {
  using finished = cm::connector<Transport, cm::step::address_resolved>;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::address_resolved, Owner> {
  using finished = cm::connector<Transport, cm::step::route_resolved>;
};
template <cm::pair_owner Owner>
struct connector_step<transport::ud, cm::step::route_resolved, Owner> {
  using finished = cm::datagram_peer;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::ready, Owner> {
  using finished = cm::connection<Transport, Owner>;
};

/// Selects the type that `create_queue_pair` returns. A UD queue pair is complete and needs no
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

/// Establishes a connection from the active side, step by step. The type encodes the next permitted
/// step:
///
///     auto start = cm::connector<>::create();
///     auto near = start.resolve_address(address);
///     auto far = near.resolve_route();
///     auto ready = far.create_queue_pair({.max_send_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<> connection = ready.connect();
///
/// A step moves from the connector only if it succeeds. A step that failed before `connect` can be
/// retried. After ETIMEDOUT, EINTR or ECANCELED (the descriptor of the time limit became readable)
/// the step is still in progress, and calling it again continues to wait; this includes `connect`.
/// `cm::connect` performs all steps.
///
/// Every blocking step has a non-blocking form. `start_…` starts the step, `file_descriptor()`
/// becomes readable, and `finish()` returns the result. The result is empty until the event of the
/// step arrives:
///
///     ready.start_connect();
///     …                                             // poll(ready.file_descriptor())
///     if (auto connection = ready.finish()) …
///
/// Many connectors can share an event channel: `create(channel)`. The program then takes the events
/// from the channel and passes each to `finish(event)` of the connector with the same
/// `identifier()`.
///
/// Datagrams (UD) have no connection. `resolve_peer` replaces `connect` and returns the
/// destination. The queue pair that sends to any number of peers is a `datagram_endpoint`.
///
/// `use_queue_pair` takes a queue pair that the program created:
///
///     auto fresh = queue_pair<transport::rc>::create(domain, options);
///     auto ready = far.use_queue_pair(std::move(fresh));
///     cm::connection<transport::rc, cm::pair_owner::program> connection = ready.connect();
template <transport Transport, step Step, pair_owner Owner>
class [[nodiscard]] connector {
  using finished = typename detail::connector_step<Transport, Step, Owner>::finished;

 public:
  /// Creates an empty connector.
  connector() noexcept = default;

  /// Creates a connector with its own event channel. Wraps: rdma_create_event_channel(3),
  /// rdma_create_id(3).
  [[nodiscard]] static connector<Transport> create(on_failure policy = throwing{}) {
    return created({}, policy);
  }
  /// Creates a connector on a shared event channel. Wraps: rdma_create_id(3).
  [[nodiscard]] static connector<Transport> create(event_channel_ref channel,
                                                   on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "rdma_create_id", channel.native_handle())) return {};
    return created(channel, policy);
  }

  /// Creates a connector and resolves the address and the route. UC and XRC must start with this
  /// function; for them librdmacm waits two seconds for each step and ignores the time limit in the
  /// options. Wraps: rdma_create_ep(3), rdma_resolve_addr(3), rdma_resolve_route(3).
  [[nodiscard]] static connector<Transport, step::route_resolved> resolve(
      const socket_address& to, const resolve_options& options = {},
      on_failure policy = throwing{}) {
    if constexpr (detail::needs_endpoint(Transport)) {
      cm::identifier id = detail::create_endpoint(policy, Transport, options.from, to);
      if (!id) return {};
      return {detail::cm_session::of_identifier(std::move(id), {}, policy)};
    } else {
      auto start = connector<Transport>::create(policy);
      if (!start) return {};
      auto near = start.resolve_address(to, options, policy);
      if (!near) return {};
      return near.resolve_route(options.timeout, policy);
    }
  }
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  [[nodiscard]] static connector<Transport, step::route_resolved> resolve(const Text&,
                                                                          const Rest&...) {
    detail::reject_address_text<Text>();
    return {};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Returns the identifier, for calls that this class lacks: options, enhanced connection
  /// establishment (ECE).
  [[nodiscard]] identifier_ref identifier() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id;
  }

  /// Returns the device that leads to the address. librdmacm owns it, and it outlives the
  /// connector.
  [[nodiscard]] context_ref context() const noexcept {
    static_assert(
        Step != step::start,
        "a connector has no device until its address is resolved: call resolve_address() first");
    return session_.id.context();
  }
  /// Returns the protection domain of the queue pair, or the default if none is given.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    static_assert(
        Step != step::start,
        "a connector has no device until its address is resolved: call resolve_address() first");
    return session_.id.protection_domain();
  }

  /// Resolves an address to a device and a neighbour. Wraps: rdma_resolve_addr(3).
  [[nodiscard]] connector<Transport, step::address_resolved> resolve_address(
      const socket_address& to, const resolve_options& options = {},
      on_failure policy = throwing{}) {
    if (session_.under_way && session_.id.peer_address() != to) {
      detail::report_on(session_.id, EALREADY, verb, policy,
                        "another address is still being resolved");
      return {};
    }
    return wait_for<connector<Transport, step::address_resolved>>(
        options.timeout + margin, policy, [&] { start_resolve_address(to, options, policy); });
  }
  /// Starts `resolve_address` without blocking. Wraps: rdma_resolve_addr(3).
  void start_resolve_address(const socket_address& to, const resolve_options& options = {},
                             on_failure policy = throwing{}) {
    static_assert(Step == step::start, "the address is already resolved");
    session_.start(verb, policy,
                   [&] { session_.id.resolve_address(to, options.from, options.timeout, policy); });
  }

  /// Resolves the route to the address. Wraps: rdma_resolve_route(3).
  [[nodiscard]] connector<Transport, step::route_resolved> resolve_route(
      timeout limit = detail::seconds{2}, on_failure policy = throwing{}) {
    return wait_for<connector<Transport, step::route_resolved>>(
        limit + margin, policy, [&] { start_resolve_route(limit, policy); });
  }
  /// Starts `resolve_route` without blocking. Wraps: rdma_resolve_route(3).
  void start_resolve_route(timeout limit = detail::seconds{2}, on_failure policy = throwing{}) {
    static_assert(
        Step == step::address_resolved,
        "resolve_route() runs once, after the address is resolved: call resolve_address() first");
    session_.start(verb, policy, [&] { session_.id.resolve_route(limit, policy); });
  }

  /// Creates the queue pair. The default protection domain is librdmacm's. Completion queues that
  /// the options omit are created with the queue pair. A UD queue pair needs no route, and the call
  /// returns a `datagram_endpoint`. Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  [[nodiscard]] typename detail::connector_with_queue_pair<Transport>::type create_queue_pair(
      const queue_pair_options& options = {}, protection_domain_ref domain = {},
      on_failure policy = throwing{}) {
    if constexpr (Transport == transport::ud) {
      static_assert(Step == step::address_resolved || Step == step::route_resolved,
                    "a datagram queue pair needs a resolved address: call resolve_address() first");
      return datagram_endpoint::make(std::move(session_), options, domain, policy);
    } else {
      static_assert(
          Step == step::route_resolved,
          "create_queue_pair() runs once, after the route is resolved: call resolve_route() first");
      session_.id.template create_queue_pair<Transport>(options, domain, policy);
      if (policy.failed()) return {};
      return {std::move(session_)};
    }
  }

  /// Takes a queue pair that the program created on this device, and moves it to INIT. Moves from
  /// both objects only if it succeeds. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connector<Transport, step::ready, pair_owner::program> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connection: use the queue pair without an identifier");
    static_assert(
        Step == step::route_resolved,
        "use_queue_pair() runs once, after the route is resolved: call resolve_route() first");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_),
            detail::connection_pair<Transport, pair_owner::program>{std::move(fresh)}};
  }

  /// Returns the queue pair before it is connected. Receives can be posted to it.
  [[nodiscard]] queue_pair_ref<Transport, detail::created_state(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "no queue pair exists yet: call create_queue_pair() first");
    return pair_.pair(session_.id).template as<detail::created_state(Transport)>();
  }

  /// Offers enhanced connection establishment (ECE) options to the peer. `connect` then applies the
  /// peer's answer to the queue pair. Only for a queue pair of the program; librdmacm does this for
  /// its own. Wraps: rdma_set_local_ece(3).
  void offer_ece(const ece& offered, on_failure policy = throwing{}) {
    detail::check_owns_pair<connector, Owner>();
    pair_.offer_ece(session_.id, offered, policy);
  }

  /// Requests from the listener the queue pair that receives datagrams. Queue pairs in `domain` can
  /// send to the returned peer. Wraps: rdma_connect(3).
  [[nodiscard]] datagram_peer resolve_peer(protection_domain_ref domain,
                                           const peer_options& options = {},
                                           on_failure policy = throwing{}) {
    return wait_for<datagram_peer>(options.timeout, policy,
                                   [&] { start_resolve_peer(domain, options, policy); });
  }
  /// Starts `resolve_peer` without blocking. Ignores the time limit in the options. The domain must
  /// outlive the step. Wraps: rdma_connect(3).
  void start_resolve_peer(protection_domain_ref domain, const peer_options& options = {},
                          on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "resolve_peer() is for datagrams (UD) only: call connect()");
    static_assert(Transport != transport::ud || Step == step::route_resolved,
                  "resolve_peer() needs a resolved route: call resolve_route() first");
    session_.start(verb, policy, [&] {
      domain_ = domain;
      session_.id.connect({.private_data = options.private_data}, policy);
    });
  }

  /// Requests the connection from the listener, and blocks until it is established. Moves a queue
  /// pair of the program to RTR and RTS with the negotiated attributes; if a call fails there,
  /// calling `connect` again resumes at that call. If the peer rejects or cannot be reached, only
  /// `rejection` and `take_queue_pair` remain usable. Wraps: rdma_connect(3), rdma_init_qp_attr(3),
  /// ibv_modify_qp(3), rdma_establish(3).
  [[nodiscard]] connection<Transport, Owner> connect(const connection_parameters& options = {},
                                                     timeout limit = detail::seconds{10},
                                                     on_failure policy = throwing{}) {
    if (answer_) return establish(policy);
    return wait_for<connection<Transport, Owner>>(limit, policy,
                                                  [&] { start_connect(options, policy); });
  }
  /// Starts `connect` without blocking. Wraps: rdma_connect(3).
  void start_connect(const connection_parameters& options = {}, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connection: call resolve_peer()");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: call create_queue_pair() first");
    session_.start(verb, policy, [&] {
      rnr_timer_ = options.rnr_timer;
      pair_.connect(session_.id, options, policy);
    });
  }

  /// Returns a descriptor that becomes readable when `finish` has an event to take. It is the
  /// descriptor of the channel, even if the channel is shared. Returns -1 if the connector is
  /// empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// Returns the result of the started step, or an empty one until its event arrives. Does not
  /// block. Success empties the connector. Fails as the blocking form does, but never with
  /// ETIMEDOUT. Fails with EINVAL if no step was started, or if the channel is shared.
  /// Wraps: rdma_get_cm_event(3).
  [[nodiscard]] finished finish(on_failure policy = throwing{}) {
    static_assert(!std::is_same_v<finished, bool>,
                  "this connector has no step to finish: call create_queue_pair() next");
    if constexpr (Step == step::ready)
      if (answer_) return establish(policy);
    if (!session_.is_started(verb, policy)) return {};
    return session_.take_events(verb, policy,
                                [&](event& happened) { return finish(happened, policy); });
  }
  /// Passes an event of a shared channel to the started step, and acknowledges it. Fails with
  /// EINVAL if the event is about another identifier.
  [[nodiscard]] finished finish(event& happened, on_failure policy = throwing{}) {
    static_assert(!std::is_same_v<finished, bool>,
                  "this connector has no step to finish: call create_queue_pair() next");
    if (!detail::is_about(session_.id, happened, verb, policy)) return {};
    const bool ended =
        session_.is_ended_by(happened, {verb, phase}, policy, [this](const event& failed) {
          if (failed.is_rejection())
            rejection_ = cm::rejection{failed.reason(), failed.private_data()};
        });
    if constexpr (Step == step::ready) {
      if (ended)
        answer_ = acceptance{cm::private_data{happened.private_data()}, happened.parameters()};
      happened.acknowledge();
      if (ended) return establish(policy);
    } else if constexpr (std::is_same_v<finished, datagram_peer>) {
      const cm::private_data data{happened.private_data()};
      const datagram_parameters there = happened.datagram_parameters();
      happened.acknowledge();
      if (ended) return {domain_, there, data, policy};
    } else {
      happened.acknowledge();
      if (ended) return {std::move(session_)};
    }
    return {};
  }

  /// Returns the peer's reject reason and private data, or nothing unless the peer rejected
  /// `connect` or `resolve_peer`.
  [[nodiscard]] const std::optional<cm::rejection>& rejection() const noexcept {
    static_assert(
        Step == step::ready || (Transport == transport::ud && Step == step::route_resolved),
        "a connector has no rejection before connect() or resolve_peer()");
    return rejection_;
  }

  /// Returns the program's queue pair, in RESET, for another connection. RESET discards posted
  /// receives. Empties the connector on success. Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    detail::check_owns_pair<connector, Owner>();
    auto fresh = pair_.take(policy);
    if (!policy.failed()) *this = {};
    return fresh;
  }

 private:
  template <transport, step, pair_owner>
  friend class connector;

  [[nodiscard]] static connector<Transport> created(event_channel_ref channel, on_failure policy) {
    static_assert(!detail::needs_endpoint(Transport),
                  "a UC or XRC connector starts from an address: call resolve(address)");
    return {detail::cm_session::create(channel, port_space_of(Transport), policy)};
  }

  connector(detail::cm_session&& session,
            detail::connection_pair<Transport, Owner>&& pair = {}) noexcept
      : session_{std::move(session)}, pair_{std::move(pair)} {}

  /// The extra time to wait for the kernel, which enforces the time limit of a resolution and
  /// reports its expiry itself.
  static constexpr timeout margin = detail::seconds{1};

  /// The call that starts the step of this connector.
  static constexpr const char* verb = Step == step::start              ? "rdma_resolve_addr"
                                      : Step == step::address_resolved ? "rdma_resolve_route"
                                                                       : "rdma_connect";
  static constexpr detail::cm_phase phase =
      Step == step::start              ? detail::cm_phase::resolving_address
      : Step == step::address_resolved ? detail::cm_phase::resolving_route
                                       : detail::cm_phase::connecting;

  /// Starts the step unless it is in progress, and waits for its end. `Result` is the return type
  /// of the calling function. If it does not belong to this step, compilation has already failed.
  template <class Result, class Start>
  [[nodiscard]] Result wait_for(timeout limit, on_failure policy, const Start& start) {
    if constexpr (std::is_same_v<Result, finished>)
      return session_.take_step(limit, verb, policy, start, [&] { return finish(policy); });
    else
      return {};
  }

  /// Connects the queue pair after the peer has answered.
  [[nodiscard]] connection<Transport, Owner> establish(on_failure policy) {
    if (!detail::check_present(policy, verb, session_.id.native_handle())) return {};
    pair_.establish(session_.id, policy);
    if (policy.failed()) return {};
    detail::set_rnr_timer(pair_.pair(session_.id), rnr_timer_);
    return {std::move(session_), answer_->private_data, answer_->parameters, std::move(pair_)};
  }

  /// The data of the peer's acceptance.
  struct acceptance {
    cm::private_data private_data;
    peer_parameters parameters;
  };

  detail::cm_session session_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
  std::optional<acceptance> answer_;
  /// librdmacm's, until the step is started.
  adverb::rnr_timer rnr_timer_ = adverb::rnr_timer::from_code(0);
  std::optional<cm::rejection> rejection_;
  /// The domain of the peer to resolve.
  protection_domain_ref domain_;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/connector.ipp>
#endif
