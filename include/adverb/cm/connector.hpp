// SPDX-License-Identifier: MIT
// Connectors: the side of a connection that asks for it, step by step.
#pragma once

#include <cerrno>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/create_endpoint.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How an address is resolved.
struct resolve_options {
  /// The address of this machine to connect from; any unless it is given here.
  socket_address from{};
  adverb::timeout timeout = detail::seconds{2};
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// What `finish` of a connector returns, and the event that it takes.
template <transport Transport, cm::step Step, cm::pair_owner Owner>
struct connector_step {
  static constexpr bool waits = false;
  using finished = bool;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::start, Owner> {
  static constexpr bool waits = true;
  using finished = cm::connector<Transport, cm::step::address_resolved>;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::address_resolved, Owner> {
  static constexpr bool waits = true;
  using finished = cm::connector<Transport, cm::step::route_resolved>;
};
template <cm::pair_owner Owner>
struct connector_step<transport::ud, cm::step::route_resolved, Owner> {
  static constexpr bool waits = true;
  using finished = cm::datagram_peer;
};
template <transport Transport, cm::pair_owner Owner>
struct connector_step<Transport, cm::step::ready, Owner> {
  static constexpr bool waits = true;
  using finished = cm::connection<Transport, Owner>;
};

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

/// The set-up of a connection from the side that asks for it. Its type says what may be done next:
///
///     auto start = cm::connector<>::create();
///     auto near = start.resolve_address(address);
///     auto far = near.resolve_route();
///     auto ready = far.create_queue_pair({.max_send_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<> connection = ready.connect();
///
/// Each step moves from the connector, but only when it succeeds: one that failed before `connect`
/// can be tried again, and one whose event did not come (ETIMEDOUT, EINTR, or ECANCELED when the
/// descriptor of its time limit woke it) waits on when it is tried again, `connect` too.
/// `cm::connect` does all of them.
///
/// Every step that blocks has a form that does not: `start_…` starts it, `file_descriptor()`
/// becomes readable, and `finish()` returns what the step leads to, which is empty until its event
/// is there:
///
///     ready.start_connect();
///     …                                             // poll(ready.file_descriptor())
///     if (auto connection = ready.finish()) …
///
/// Many connectors can share a channel: `create(channel)`. A loop takes the events from the channel
/// then, and hands each to the `finish(event)` of the connector whose `identifier()` it names.
///
/// With datagrams there is nothing to connect: `resolve_peer` asks where to send them, in the place
/// of `connect`, and the queue pair that sends to any number of peers is a `datagram_endpoint`.
///
/// `use_queue_pair` takes a queue pair that the program made:
///
///     auto fresh = queue_pair<transport::rc>::create(domain, options);
///     auto ready = far.use_queue_pair(std::move(fresh));
///     cm::connection<transport::rc, cm::pair_owner::program> connection = ready.connect();
template <transport Transport, step Step, pair_owner Owner>
class [[nodiscard]] connector {
  using next = detail::connector_step<Transport, Step, Owner>;
  using finished = typename next::finished;

 public:
  /// Empty.
  connector() noexcept = default;

  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3).
  [[nodiscard]] static connector<Transport> create(on_failure policy = throwing{}) {
    return create({}, policy);
  }
  /// The same, with its events on a channel that others share. Wraps: rdma_create_id(3).
  [[nodiscard]] static connector<Transport> create(event_channel_ref channel,
                                                   on_failure policy = throwing{}) {
    static_assert(!detail::needs_endpoint(Transport),
                  "a connector of UC or XRC starts with its address: resolve(address)");
    return {detail::cm_session::create(channel, port_space_of(Transport), policy)};
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
      return {detail::cm_session::of_identifier(std::move(id), {}, policy)};
    } else {
      auto start = connector<Transport>::create(policy);
      if (!start) return {};
      auto near = start.resolve_address(to, options, policy);
      if (!near) return {};
      return near.resolve_route(options.timeout, policy);
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// For what is not here: options, enhancements.
  [[nodiscard]] identifier_ref identifier() const noexcept { return session_.id; }

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
    check_before_address();
    if (session_.under_way && session_.id.peer_address() != to) {
      session_.report(EALREADY, verb, policy, "another address is still being resolved");
      return {};
    }
    return wait_for<connector<Transport, step::address_resolved>>(
        options.timeout + margin, policy,
        [&] { session_.id.resolve_address(to, options.from, options.timeout, policy); });
  }
  /// Starts to, without blocking. Wraps: rdma_resolve_addr(3).
  void start_resolve_address(const socket_address& to, const resolve_options& options = {},
                             on_failure policy = throwing{}) {
    check_before_address();
    session_.start(verb, policy,
                   [&] { session_.id.resolve_address(to, options.from, options.timeout, policy); });
  }

  /// Finds the way there. Wraps: rdma_resolve_route(3).
  [[nodiscard]] connector<Transport, step::route_resolved> resolve_route(
      timeout limit = detail::seconds{2}, on_failure policy = throwing{}) {
    check_before_route();
    return wait_for<connector<Transport, step::route_resolved>>(
        limit + margin, policy, [&] { session_.id.resolve_route(limit, policy); });
  }
  /// Starts to, without blocking. Wraps: rdma_resolve_route(3).
  void start_resolve_route(timeout limit = detail::seconds{2}, on_failure policy = throwing{}) {
    check_before_route();
    session_.start(verb, policy, [&] { session_.id.resolve_route(limit, policy); });
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
      return {std::move(session_)};
    }
  }

  /// Takes a queue pair that the program made on this device, and puts it into INIT. Moves from
  /// both, but only when it succeeds. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connector<Transport, step::ready, pair_owner::program> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: a pair of one's own needs no identifier");
    static_assert(Step == step::route_resolved,
                  "a queue pair is used once the route is resolved: resolve_route() first");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_),
            detail::connection_pair<Transport, pair_owner::program>{std::move(fresh)}};
  }

  /// The queue pair before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, detail::created_state(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "there is no queue pair yet: create_queue_pair() first");
    return pair_.pair(session_.id).template as<detail::created_state(Transport)>();
  }

  /// Tells the peer what this side supports beyond the specification; `connect` then sets on the
  /// pair what the peer answers. Of a pair of the program's: librdmacm does it with its own.
  /// Wraps: rdma_set_local_ece(3).
  void offer_ece(const ece& offered, on_failure policy = throwing{}) {
    check_owns_pair();
    pair_.offer_ece(session_.id, offered, policy);
  }

  /// Asks the listener at the other side which queue pair datagrams are to be sent to, by pairs in
  /// the domain. Wraps: rdma_connect(3).
  [[nodiscard]] datagram_peer resolve_peer(protection_domain_ref domain,
                                           const peer_options& options = {},
                                           on_failure policy = throwing{}) {
    check_before_peer();
    return wait_for<datagram_peer>(options.timeout, policy, [&] {
      domain_ = domain;
      session_.id.connect({.private_data = options.private_data}, policy);
    });
  }
  /// Starts to, without blocking; the time limit of the options is not looked at. The domain
  /// outlives the step. Wraps: rdma_connect(3).
  void start_resolve_peer(protection_domain_ref domain, const peer_options& options = {},
                          on_failure policy = throwing{}) {
    check_before_peer();
    session_.start(verb, policy, [&] {
      domain_ = domain;
      session_.id.connect({.private_data = options.private_data}, policy);
    });
  }

  /// Asks the listener at the other side for the connection, and waits until it is there. A pair of
  /// the program's is put into RTR and RTS as the two sides agree; when a call failed there,
  /// another attempt goes on from that call. When the answer is no the connector can no longer be
  /// used, but for `rejection` and `take_queue_pair`. Wraps: rdma_connect(3), rdma_init_qp_attr(3),
  /// ibv_modify_qp(3), rdma_establish(3).
  [[nodiscard]] connection<Transport, Owner> connect(const connection_parameters& options = {},
                                                     timeout limit = detail::seconds{10},
                                                     on_failure policy = throwing{}) {
    check_before_connect();
    if (answer_) return establish(policy);
    return wait_for<connection<Transport, Owner>>(
        limit, policy, [&] { pair_.connect(session_.id, options, policy); });
  }
  /// Starts to, without blocking. Wraps: rdma_connect(3).
  void start_connect(const connection_parameters& options = {}, on_failure policy = throwing{}) {
    check_before_connect();
    session_.start(verb, policy, [&] { pair_.connect(session_.id, options, policy); });
  }

  /// Becomes readable when an event is there: then call `finish`. -1 when it is empty. That of the
  /// channel, where it is shared.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// What the step that was started leads to, and empties the connector; or nothing (an empty one)
  /// as long as its event is not there. Does not block. Fails as the blocking form does, but never
  /// with ETIMEDOUT. Refuses (EINVAL) when no step was started, and when the channel is shared.
  /// Wraps: rdma_get_cm_event(3).
  [[nodiscard]] finished finish(on_failure policy = throwing{}) {
    static_assert(next::waits, "no step of this connector blocks: create_queue_pair() is the next");
    if constexpr (Step == step::ready)
      if (answer_) return establish(policy);
    if (!session_.is_started(verb, policy)) return {};
    return session_.take_events(verb, policy,
                                [&](event& happened) { return finish(happened, policy); });
  }
  /// The same with an event of a shared channel, which it acknowledges. Refuses (EINVAL) one of
  /// another identifier.
  [[nodiscard]] finished finish(event& happened, on_failure policy = throwing{}) {
    static_assert(next::waits, "no step of this connector blocks: create_queue_pair() is the next");
    if (!session_.is_about(happened, verb, policy)) return {};
    const bool ended =
        session_.is_ended_by(happened, {verb, wanted_event()}, policy, [this](const event& failed) {
          if (failed.is_rejection())
            rejection_ = cm::rejection{failed.reason(), failed.private_data()};
        });
    const cm::private_data data{happened.private_data()};
    const peer_parameters parameters = happened.parameters();
    const datagram_parameters there = happened.datagram_parameters();
    happened.acknowledge();
    if (!ended) return {};
    if constexpr (Step == step::ready) {
      answer_ = acceptance{data, parameters};
      return establish(policy);
    } else if constexpr (std::is_same_v<finished, datagram_peer>) {
      return {domain_, there, data, policy};
    } else {
      return {std::move(session_)};
    }
  }

  /// Why the peer rejected, and what it sent along; nothing unless `connect` or `resolve_peer`
  /// failed because of it.
  [[nodiscard]] const std::optional<cm::rejection>& rejection() const noexcept {
    static_assert(
        Step == step::ready || (Transport == transport::ud && Step == step::route_resolved),
        "a connector that was not connected was not rejected");
    return rejection_;
  }

  /// Gives the program's pair back, in RESET, for another connection. Receives that were posted are
  /// forgotten. Empty then, unless it fails. Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    check_owns_pair();
    auto fresh = pair_.take(policy);
    if (!policy.failed()) *this = {};
    return fresh;
  }

 private:
  template <transport, step, pair_owner>
  friend class connector;

  connector(detail::cm_session&& session,
            detail::connection_pair<Transport, Owner>&& pair = {}) noexcept
      : session_{std::move(session)}, pair_{std::move(pair)} {}

  /// The kernel ends what it resolves by itself when the time is up, and reports that; its answer
  /// is given this much longer to come.
  static constexpr timeout margin = detail::seconds{1};

  /// The call that the step of this connector starts with.
  static constexpr std::string_view verb = Step == step::start              ? "rdma_resolve_addr"
                                           : Step == step::address_resolved ? "rdma_resolve_route"
                                                                            : "rdma_connect";
  [[nodiscard]] event_type wanted_event() const noexcept {
    if constexpr (Step == step::start)
      return event_type::address_resolved;
    else if constexpr (Step == step::address_resolved)
      return event_type::route_resolved;
    else if constexpr (Step == step::ready)
      return pair_.answer();
    else
      return event_type::established;
  }

  static constexpr void check_before_address() noexcept {
    static_assert(Step == step::start, "the address is resolved already");
  }
  static constexpr void check_before_route() noexcept {
    static_assert(Step == step::address_resolved,
                  "the route is resolved after the address, once: resolve_address() first");
  }
  static constexpr void check_before_peer() noexcept {
    static_assert(Transport == transport::ud,
                  "only datagrams (UD) go to a peer without a connection: connect()");
    static_assert(Transport != transport::ud || Step == step::route_resolved,
                  "a peer is asked once the route is resolved: resolve_route() first");
  }
  static constexpr void check_before_connect() noexcept {
    static_assert(
        Transport != transport::ud,
        "datagrams (UD) have no connections: resolve_peer() finds out where to send them");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: create_queue_pair() first");
  }
  static constexpr void check_owns_pair() noexcept {
    static_assert(Owner == pair_owner::program,
                  "librdmacm made the queue pair: this is for one that use_queue_pair() took");
  }

  /// Starts the step, unless it is under way, and waits for its end. `Result` is what the function
  /// returns that was called, which may be none of this step: that was reported when compiling.
  template <class Result, class Start>
  [[nodiscard]] Result wait_for(timeout limit, on_failure policy, const Start& start) {
    if constexpr (std::is_same_v<Result, finished>)
      return session_.take_step(limit, verb, policy, start, [&] { return finish(policy); });
    else
      return {};
  }

  /// The answer of the peer is there: brings the pair up.
  [[nodiscard]] connection<Transport, Owner> establish(on_failure policy) {
    pair_.establish(session_.id, policy);
    if (policy.failed()) return {};
    return {std::move(session_), answer_->private_data, answer_->parameters, std::move(pair_)};
  }

  /// What came with the acceptance of the peer.
  struct acceptance {
    cm::private_data private_data;
    peer_parameters parameters;
  };

  detail::cm_session session_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
  std::optional<acceptance> answer_;
  std::optional<cm::rejection> rejection_;
  /// Of the peer that is asked.
  protection_domain_ref domain_;
};

inline datagram_peer datagram_endpoint::resolve_peer(const socket_address& to,
                                                     const peer_options& options,
                                                     on_failure policy) const {
  if (!detail::check_present(policy, "rdma_resolve_addr", identifier().native_handle())) return {};
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
