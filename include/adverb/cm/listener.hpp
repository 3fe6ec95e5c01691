// SPDX-License-Identifier: MIT
// Listeners: where requests to connect come in.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/detail/create_endpoint.hpp>
#include <adverb/cm/prepare.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a connection is made from the side that is asked for it.
struct accept_options {
  /// Without completion queues they are made with the queue pair.
  queue_pair_options queue_pair{};
  /// librdmacm's own unless it is said here.
  protection_domain_ref domain{};
  /// What goes with the acceptance.
  connection_parameters connection{};
  /// How long to wait for a request, and then for the connection.
  timeout request_timeout = timeout::endless();
  timeout accept_timeout = detail::seconds{10};
};

/// What a listener is made with.
struct listener_options {
  /// How many requests may queue up; as many as the kernel allows when 0.
  int backlog = 0;
  /// Listens even if the port was used until just now, as SO_REUSEADDR does. Refused (EOPNOTSUPP)
  /// for UC and XRC, whose listeners librdmacm binds as it makes them.
  bool reuse_address = false;
  /// On `socket_address::any`: for IPv6 alone, so that another can listen on the port for IPv4. Not
  /// for UC and XRC.
  bool address_family_only = false;
};

/// Waits for requests to connect:
///
///     auto listener = cm::listener<transport::rc>::create(7471);
///     auto connection = listener.accept();
///
/// A server of many takes each request by itself, because a client that fails to connect is no
/// reason to end:
///
///     while (true) {
///       auto request = listener.next_request();
///       try {
///         auto ready = request.create_queue_pair({.max_recv_wr = 16});
///         serve(ready.accept());
///       } catch (const adverb::error& failure) { log(failure.what()); }
///     }
///
/// A loop that waits for more than requests watches `file_descriptor()`, and takes them with
/// `try_next_request`, or with `take_request` from a channel that the listener shares.
///
/// Thread safe: of several threads that wait on one, each request wakes one.
template <transport Transport>
class [[nodiscard]] listener {
 public:
  /// Empty.
  listener() noexcept = default;
  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept {
    // Before the channel that it is on.
    ipv4_ = std::move(other.ipv4_);
    session_ = std::move(other.session_);
    return *this;
  }
  ~listener() = default;

  /// On an address of this machine; or on every one, IPv4 and IPv6 (`socket_address::any`), where
  /// both families have the same port. The kernel chooses the port when it is 0. A listener of XRC
  /// targets is one of `transport::xrc_recv`.
  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3), rdma_create_ep(3), rdma_bind_addr(3),
  /// rdma_listen(3).
  [[nodiscard]] static listener create(const socket_address& address,
                                       const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    return create({}, address, options, policy);
  }
  /// The same, with its requests, and the events of their identifiers, on a channel that others
  /// share: see `take_request`.
  [[nodiscard]] static listener create(event_channel_ref channel, const socket_address& address,
                                       const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    static_assert(Transport != transport::xrc_send,
                  "the initiator of XRC connects; what listens is its target: transport::xrc_recv");
    if constexpr (detail::needs_endpoint(Transport)) {
      return on_endpoint(channel, address, options, policy);
    } else {
      const bool on_both = address.is_any() && address.family() == address_family::ipv6 &&
                           !options.address_family_only;
      if (on_both) return on_both_families(channel, address.port(), options, policy);
      listener made{detail::cm_session::create(channel, port_space_of(Transport), policy)};
      if (!made || !listens(made.session_.id, address, options, policy)) return {};
      return made;
    }
  }

  /// On a port of every address of this machine, IPv4 and IPv6.
  [[nodiscard]] static listener create(std::uint16_t port, const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    return create(socket_address::any(port), options, policy);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// For what is not here. A listener on every address has one of each family; this is that of
  /// IPv6, where the machine has IPv6.
  [[nodiscard]] identifier_ref identifier() const noexcept { return session_.id; }
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return local_address().port(); }

  /// Readable when a request is there. That of the channel, where it is shared; -1 when the
  /// listener is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// Waits for the next request. An empty one when none came in time (ETIMEDOUT), a signal handler
  /// ran meanwhile (EINTR), or the descriptor of the time limit woke it (ECANCELED): all three are
  /// reported.
  [[nodiscard]] connection_request<Transport> next_request(timeout limit = timeout::endless(),
                                                           on_failure policy = throwing{}) const {
    return session_.wait(limit, verb, policy, [&] { return try_next_request(policy); });
  }
  /// The next request, or an empty one when there is none. Does not block. Refuses (EINVAL) when
  /// the channel is shared. Wraps: rdma_get_cm_event(3).
  [[nodiscard]] connection_request<Transport> try_next_request(
      on_failure policy = throwing{}) const {
    return session_.take_events(verb, policy,
                                [&](event& happened) { return take_request(happened, policy); });
  }
  /// The request of an event (`connect_request`), which is acknowledged. On a shared channel its
  /// later events come there as well. Another event is reported as the failure that it is.
  [[nodiscard]] connection_request<Transport> take_request(event& happened,
                                                           on_failure policy = throwing{}) const {
    policy.clear();
    if (happened.type() == event_type::connect_request && happened.status() == 0)
      return connection_request<Transport>::take(happened, shared_channel(), policy);
    if (happened.type() != event_type::address_change &&
        happened.type() != event_type::timewait_exit)
      session_.report_event(happened, verb, policy);
    return {};
  }

  /// Waits for the next request, and accepts it:
  ///
  ///     auto connection = listener.accept(
  ///         options, [&](auto& ready) { post_receives(ready.queue_pair()); });
  ///
  /// `prepare` sees the request when the queue pair is there and before it is accepted: receives
  /// that are posted there are in place before the peer can send. A request that fails on the way
  /// is turned down. Wraps: rdma_create_qp(3), rdma_accept(3).
  template <preparation<connection_request<Transport, step::ready>> Prepare>
  [[nodiscard]] connection<Transport> accept(const accept_options& options, Prepare&& prepare,
                                             on_failure policy = throwing{}) const {
    auto request = next_request(options.request_timeout, policy);
    if (!request) return {};
    auto ready = request.create_queue_pair(options.queue_pair, options.domain, policy);
    if (!ready || !detail::prepared(policy, "listener::accept", ready, prepare)) return {};
    return ready.accept(options.connection, options.accept_timeout, policy);
  }
  [[nodiscard]] connection<Transport> accept(const accept_options& options = {},
                                             on_failure policy = throwing{}) const {
    return accept(options, detail::no_preparation, policy);
  }

 private:
  /// How often another port is tried where the kernel's choice was free for one family alone.
  static constexpr int most_choices_of_port = 8;

  static constexpr std::string_view verb = "listener::next_request";

  explicit listener(detail::cm_session&& session) noexcept : session_{std::move(session)} {}

  [[nodiscard]] event_channel_ref shared_channel() const noexcept {
    return session_.channel || !session_.id ? event_channel_ref{} : session_.id.channel();
  }

  [[nodiscard]] static listener on_endpoint(event_channel_ref channel,
                                            const socket_address& address,
                                            const listener_options& options, on_failure policy) {
    if (options.reuse_address) {
      detail::refuse_to_reuse(policy, address);
      return {};
    }
    cm::identifier id = detail::create_endpoint(policy, Transport, address, {});
    if (!id) return {};
    listener made{detail::cm_session::of_identifier(std::move(id), channel, policy)};
    if (!made) return {};
    made.session_.id.listen(options.backlog, policy);
    if (policy.failed()) return {};
    return made;
  }

  /// An identifier for each family, on one channel: what listens on the IPv6 wildcard does not take
  /// IPv4 everywhere (see the guide). On a machine without IPv6 there is only the other.
  [[nodiscard]] static listener on_both_families(event_channel_ref channel, std::uint16_t port,
                                                 const listener_options& options,
                                                 on_failure policy) {
    failure why;
    for (int choices_left = port == 0 ? most_choices_of_port : 1; choices_left > 0;
         --choices_left) {
      listener made = on_both_families_once(channel, port, options, why);
      if (made) {
        policy.clear();
        return made;
      }
      if (why.code() != std::errc::address_in_use && why.code() != std::errc::address_not_available)
        break;
    }
    policy.report(why);
    return {};
  }
  [[nodiscard]] static listener on_both_families_once(event_channel_ref channel, std::uint16_t port,
                                                      listener_options options, failure& why) {
    options.address_family_only = true;
    listener made{detail::cm_session::create(channel, port_space_of(Transport), why)};
    if (!made) return {};
    const bool on_ipv6 = listens(made.session_.id, socket_address::any(port), options, why);
    if (!on_ipv6 && why.code() != std::errc::address_family_not_supported) return {};
    cm::identifier ipv4 =
        cm::identifier::create(made.session_.id.channel(), port_space_of(Transport), nullptr, why);
    if (!ipv4 ||
        !listens(ipv4, socket_address::any_ipv4(on_ipv6 ? made.port() : port), options, why))
      return {};
    (on_ipv6 ? made.ipv4_ : made.session_.id) = std::move(ipv4);
    return made;
  }

  /// Binds and listens. False when that failed.
  [[nodiscard]] static bool listens(const cm::identifier& id, const socket_address& address,
                                    const listener_options& options, on_failure policy) {
    if (options.reuse_address) id.set_reuse_address(true, policy);
    if (policy.failed()) return false;
    if (options.address_family_only) id.set_address_family_only(true, policy);
    if (policy.failed()) return false;
    id.bind(address, policy);
    if (policy.failed()) return false;
    id.listen(options.backlog, policy);
    return !policy.failed();
  }

  detail::cm_session session_;
  /// The second one of a listener on every address, on the same channel.
  cm::identifier ipv4_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
