// SPDX-License-Identifier: MIT
// Listeners: the source of connection requests.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Options for accepting a connection.
struct accept_options {
  /// Completion queues that are omitted are created with the queue pair.
  queue_pair_options queue_pair{};
  /// The protection domain of the queue pair. The default is librdmacm's.
  protection_domain_ref domain{};
  /// The parameters to send with the acceptance.
  connection_parameters connection{};
  /// The time limits for the next request and then for its connection.
  timeout request_timeout = timeout::endless();
  /// The time for the peer to complete the connection.
  timeout accept_timeout = detail::seconds{10};
};

/// Options for creating a listener.
struct listener_options {
  /// The number of requests that may queue up. 0 selects the kernel's maximum.
  int backlog = 0;
  /// Listens even if the port was used recently, as SO_REUSEADDR does. Fails with EOPNOTSUPP for UC
  /// and XRC, whose listeners librdmacm binds during creation.
  bool reuse_address = false;
  /// Restricts `socket_address::any` to IPv6, so that another listener can use the port for IPv4.
  /// Fails with EOPNOTSUPP for UC and XRC.
  bool address_family_only = false;
};

/// Listens for connection requests:
///
///     auto listener = cm::listener<transport::rc>::create(7471);
///     auto connection = listener.accept();
///
/// A server for many clients takes each request separately, so that a failing client does not end
/// the loop:
///
///     while (true) {
///       auto request = listener.next_request();
///       try {
///         auto ready = request.create_queue_pair({.max_recv_wr = 16});
///         serve(ready.accept());
///       } catch (const adverb::error& failure) { log(failure.what()); }
///     }
///
/// An event loop watches `file_descriptor()` and takes requests with `try_next_request`. If the
/// listener shares a channel, the loop uses `take_request`.
///
/// Thread safe. If several threads wait on one listener, each request wakes one of them.
template <transport Transport>
class [[nodiscard]] listener {
 public:
  /// Creates an empty listener.
  listener() noexcept = default;
  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept {
    // The identifier must go before its channel.
    ipv4_ = std::move(other.ipv4_);
    session_ = std::move(other.session_);
    return *this;
  }
  ~listener() = default;

  /// Listens on one address of this machine, or on all of them (`socket_address::any`).
  /// `socket_address::any` covers IPv4 and IPv6 on the same port. The kernel chooses the port if it
  /// is 0. A listener for XRC targets uses `transport::xrc_recv`.
  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3), rdma_create_ep(3), rdma_bind_addr(3),
  /// rdma_listen(3).
  [[nodiscard]] static listener create(const socket_address& address,
                                       const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    return created({}, address, options, policy);
  }
  /// Listens with a shared event channel, which receives the requests and the events of their
  /// identifiers. See `take_request`.
  [[nodiscard]] static listener create(event_channel_ref channel, const socket_address& address,
                                       const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "rdma_create_id", channel.native_handle())) return {};
    return created(channel, address, options, policy);
  }

  /// Listens on a port of every address of this machine, IPv4 and IPv6.
  [[nodiscard]] static listener create(std::uint16_t port, const listener_options& options = {},
                                       on_failure policy = throwing{}) {
    return create(socket_address::any(port), options, policy);
  }
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  [[nodiscard]] static listener create(const Text&, const Rest&...) {
    detail::reject_address_text<Text>();
    return {};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Returns the identifier, for calls that this class lacks. A listener on all addresses has one
  /// identifier per family; this is the IPv6 one if the machine has IPv6.
  [[nodiscard]] identifier_ref identifier() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id;
  }
  /// Returns the address on which it listens.
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  /// Returns the port on which it listens.
  [[nodiscard]] std::uint16_t port() const noexcept { return local_address().port(); }

  /// Sets the pointer that `user_context()` of its identifiers and of its requests returns.
  void set_user_context(void* context) const noexcept {
    detail::require_present("set_user_context", session_.id.native_handle());
    session_.id.native_handle()->context = context;
    if (ipv4_) ipv4_.native_handle()->context = context;
  }

  /// Returns a descriptor that becomes readable when a request is pending. It is the descriptor of
  /// the channel, even if the channel is shared. Returns -1 if the listener is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// Blocks until a request arrives, and returns it. Returns an empty request and reports ETIMEDOUT
  /// if the time limit expires, EINTR if a signal handler runs, or ECANCELED if the descriptor of
  /// the time limit becomes readable.
  [[nodiscard]] connection_request<Transport> next_request(timeout limit = timeout::endless(),
                                                           on_failure policy = throwing{}) const {
    return session_.wait(limit, verb, policy, [&] { return try_next_request(policy); });
  }
  /// Returns the next request, or an empty one if none is pending. Does not block. Fails with
  /// EINVAL if the channel is shared. Wraps: rdma_get_cm_event(3).
  [[nodiscard]] connection_request<Transport> try_next_request(
      on_failure policy = throwing{}) const {
    // Events of requests that another thread takes are none of its own.
    return session_.take_events(verb, policy, [&](event& happened) {
      return is_about(happened) ? taken(happened, policy) : connection_request<Transport>{};
    });
  }
  /// Returns true if an event of a shared channel is a request to this listener, or the end of its
  /// device.
  [[nodiscard]] bool is_about(const event& happened) const noexcept {
    const bool is_request = happened.type() == event_type::connect_request;
    const identifier_ref of = is_request ? happened.listener() : happened.identifier();
    return of && (of == session_.id || of == ipv4_);
  }
  /// Returns the request of a `connect_request` event, and acknowledges the event. If the channel
  /// is shared, it also receives the later events of the request. Other events of the listener are
  /// acknowledged, and reported if they end it. Fails with EINVAL if the event is about another
  /// identifier.
  [[nodiscard]] connection_request<Transport> take_request(event& happened,
                                                           on_failure policy = throwing{}) const {
    policy.clear();
    if (!is_about(happened)) {
      static_cast<void>(detail::is_about(session_.id, happened, verb, policy));
      return {};
    }
    return taken(happened, policy);
  }

  /// Waits for the next request and accepts it:
  ///
  ///     auto connection = listener.accept(
  ///         options, [&](auto& ready) { post_receives(ready.queue_pair()); });
  ///
  /// Calls `prepare` with the request between the creation of the queue pair and the acceptance.
  /// Receives that `prepare` posts are in place before the peer can send. A request that fails on
  /// the way is rejected. Wraps: rdma_create_qp(3), rdma_accept(3).
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
  /// The number of ports to try if the kernel's choice is free for one family only.
  static constexpr int most_choices_of_port = 8;

  static constexpr const char* verb = "listener::next_request";

  [[nodiscard]] connection_request<Transport> taken(event& happened, on_failure policy) const {
    const auto meaning = detail::meaning_of(happened, detail::cm_phase::listening);
    if (meaning == detail::event_meaning::success)
      return connection_request<Transport>::taken(happened, shared_channel(), policy);
    if (meaning != detail::event_meaning::nothing)
      detail::report_event(session_.id, happened, verb, policy);
    happened.acknowledge();
    return {};
  }

  explicit listener(detail::cm_session&& session) noexcept : session_{std::move(session)} {}

  [[nodiscard]] event_channel_ref shared_channel() const noexcept {
    return session_.channel || !session_.id ? event_channel_ref{} : session_.id.channel();
  }

  /// Listens with the channel, or with one of its own when that is empty.
  [[nodiscard]] static listener created(event_channel_ref channel, const socket_address& address,
                                        const listener_options& options, on_failure policy) {
    static_assert(
        Transport != transport::xrc_send,
        "an XRC initiator cannot listen, only connect: use a target, transport::xrc_recv");
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

  [[nodiscard]] static listener on_endpoint(event_channel_ref channel,
                                            const socket_address& address,
                                            const listener_options& options, on_failure policy) {
    if (options.reuse_address || options.address_family_only) {
      detail::refuse_options_of_bind(policy, address, options.reuse_address);
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

  /// Creates one identifier per family on one channel, because listening on the IPv6 wildcard does
  /// not cover IPv4 everywhere (see the guide). Without IPv6 on the machine, only the IPv4
  /// identifier exists.
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

  /// Binds and listens. Returns false on failure.
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
  /// The IPv4 identifier of a listener on all addresses, on the same channel.
  cm::identifier ipv4_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
