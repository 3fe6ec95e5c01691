// SPDX-License-Identifier: MIT
// Connection requests: the passive side of a connection.
#pragma once

#include <type_traits>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A connection request that a listener received. Accept or reject it; the destructor rejects it.
///
///     auto request = listener.next_request();
///     if (!welcome(request.private_data().as<greeting>())) return request.reject();
///     auto ready = request.create_queue_pair({.max_recv_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<> connection = ready.accept();
///
/// A step moves from the request only if it succeeds. `accept` blocks until the peer has confirmed.
/// `start_accept`, `file_descriptor` and `finish` do the same without blocking, like those of a
/// `connector`.
///
/// `use_queue_pair` takes a queue pair that the program created. A request for datagrams (UD) is
/// answered with a destination: `accept_datagrams` sends a queue pair number. Any number of
/// requests can share that queue pair.
template <transport Transport, step Step, pair_owner Owner>
class [[nodiscard]] connection_request {
 public:
  /// Creates an empty request.
  connection_request() noexcept = default;

  /// Takes the identifier from a request event, and moves its events to its own channel.
  [[nodiscard]] static connection_request take(event& request, on_failure policy = throwing{}) {
    return taken(request, {}, policy);
  }
  /// Takes the identifier from a request event, and moves its events to a shared channel.
  [[nodiscard]] static connection_request take(event& request, event_channel_ref channel,
                                               on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "rdma_migrate_id", channel.native_handle())) return {};
    return taken(request, channel, policy);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Returns the identifier, for calls that this class lacks: options, enhanced connection
  /// establishment (ECE).
  [[nodiscard]] identifier_ref identifier() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id;
  }

  /// Returns the device that received the request. librdmacm owns it.
  [[nodiscard]] context_ref context() const noexcept { return session_.id.context(); }
  /// Returns the protection domain of the queue pair, or the default if none is given.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return session_.id.protection_domain();
  }
  /// Returns the address of the peer.
  [[nodiscard]] socket_address peer_address() const noexcept { return session_.id.peer_address(); }
  /// Returns the private data of the request.
  [[nodiscard]] const cm::private_data& private_data() const noexcept ADVERB_LIFETIME_BOUND {
    return private_data_;
  }
  /// Returns the connection parameters that the peer requests.
  [[nodiscard]] const peer_parameters& parameters() const noexcept ADVERB_LIFETIME_BOUND {
    static_assert(Transport != transport::ud,
                  "a request for datagrams (UD) has no parameters, only private data");
    return parameters_;
  }

  /// Creates the queue pair. The default protection domain is librdmacm's. Completion queues that
  /// the options omit are created with the queue pair. Wraps: rdma_create_qp(3),
  /// rdma_create_qp_ex(3).
  [[nodiscard]] connection_request<Transport, step::ready> create_queue_pair(
      const queue_pair_options& options = {}, protection_domain_ref domain = {},
      on_failure policy = throwing{}) {
    static_assert(Step == step::requested, "the request already has a queue pair");
    session_.id.template create_queue_pair<Transport>(options, domain, policy);
    if (policy.failed()) return {};
    return {std::move(session_), private_data_, parameters_};
  }

  /// Takes a queue pair that the program created on this device, and moves it to INIT. Moves from
  /// both objects only if it succeeds. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connection_request<Transport, step::ready, pair_owner::program> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(
        Transport != transport::ud,
        "datagrams (UD) have no connection: pass the queue pair to accept_datagrams(pair)");
    static_assert(Step == step::requested, "the request already has a queue pair");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_), private_data_, parameters_,
            detail::connection_pair<Transport, pair_owner::program>{std::move(fresh)}};
  }

  /// Returns the queue pair before it is connected. Receives can be posted to it.
  [[nodiscard]] queue_pair_ref<Transport, detail::created_state(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "no queue pair exists yet: call create_queue_pair() first");
    return pair_.pair(session_.id).template as<detail::created_state(Transport)>();
  }

  /// Accepts the request, and blocks until the connection is established. After ETIMEDOUT, EINTR or
  /// ECANCELED (the descriptor of the time limit became readable), calling it again continues to
  /// wait. Moves a queue pair of the program to RTR and RTS with the negotiated attributes; if a
  /// call fails there, calling `accept` again resumes at that call. After any other failure, only
  /// the destructor and `take_queue_pair` remain usable. If the peer has disconnected meanwhile,
  /// returns a connection whose `has_ended` is true; the messages that the peer sent are available.
  /// Wraps: rdma_accept(3), rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connection<Transport, Owner> accept(const connection_parameters& options = {},
                                                    timeout limit = detail::seconds{10},
                                                    on_failure policy = throwing{}) {
    return session_.take_step(
        limit, accepting.verb, policy, [&] { start_accept(options, policy); },
        [&] { return finish(policy); });
  }
  /// Starts `accept` without blocking. Wraps: rdma_accept(3), rdma_init_qp_attr(3),
  /// ibv_modify_qp(3).
  void start_accept(const connection_parameters& options = {}, on_failure policy = throwing{}) {
    check_before_accept();
    session_.start(accepting.verb, policy, [&] {
      pair_.accept(session_.id, options, parameters_, policy);
      // Here, because the peer may send before this side takes the event.
      if (!policy.failed()) detail::set_rnr_timer(pair_.pair(session_.id), options.rnr_timer);
    });
  }

  /// Returns a descriptor that becomes readable when `finish` has an event to take. It is the
  /// descriptor of the channel, even if the channel is shared. Returns -1 if the request is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// Returns the accepted connection, or an empty one until its event arrives. Does not block.
  /// Success empties the request. Fails as `accept` does, but never with ETIMEDOUT. Fails with
  /// EINVAL if nothing was started, or if the channel is shared. Wraps: rdma_get_cm_event(3).
  [[nodiscard]] connection<Transport, Owner> finish(on_failure policy = throwing{}) {
    check_before_accept();
    if (!session_.is_started(accepting.verb, policy)) return {};
    return session_.take_events(accepting.verb, policy,
                                [&](event& happened) { return finish(happened, policy); });
  }
  /// Passes an event of a shared channel to the started accept, and acknowledges it. Fails with
  /// EINVAL if the event is about another identifier.
  [[nodiscard]] connection<Transport, Owner> finish(event& happened,
                                                    on_failure policy = throwing{}) {
    check_before_accept();
    if (!detail::is_about(session_.id, happened, accepting.verb, policy)) return {};
    const bool ended = session_.is_ended_by(happened, accepting, policy, [](const event&) {});
    const bool over = happened.type() == event_type::disconnected;
    happened.acknowledge();
    if (!ended) return {};
    return {std::move(session_), private_data_, parameters_, std::move(pair_), over};
  }

  /// Accepts datagrams (UD) with the queue pair of the request, and sends private data: up to 136
  /// bytes. Does not block. No event confirms that the answer arrived; a peer that misses it
  /// repeats the request. Wraps: rdma_accept(3).
  [[nodiscard]] datagram_endpoint accept_datagrams(const cm::private_data& data = {},
                                                   on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "accept_datagrams() is for datagrams (UD) only: call accept()");
    static_assert(
        Transport != transport::ud || Step == step::ready,
        "no queue pair exists yet: call create_queue_pair() first, or accept_datagrams(pair)");
    session_.id.accept({.private_data = data}, policy);
    if (policy.failed()) return {};
    return datagram_endpoint{std::move(session_)};
  }

  /// Accepts datagrams (UD) with a separate queue pair, which may also serve other requests. The
  /// answer contains `datagram_queue_key`; fails with EINVAL if the queue pair has another queue
  /// key. Empties the request on success.
  void accept_datagrams(queue_pair_ref<transport::ud, qp_state::any> pair,
                        const cm::private_data& data = {}, on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "accept_datagrams() is for datagrams (UD) only: call accept()");
    static_assert(Transport != transport::ud || Step == step::requested,
                  "the request already has a queue pair: call accept_datagrams() without one");
    const auto attributes = pair.query(policy);
    if (policy.failed()) return;
    if (attributes.queue_key() != datagram_queue_key) {
      refuse_queue_key(policy, pair, attributes.queue_key());
      return;
    }
    session_.id.accept({.private_data = data, .queue_pair_number = pair.number()}, policy);
    if (!policy.failed()) session_.id = {};
  }

  /// Rejects the request, with private data for the peer, and empties it. Returns a queue pair of
  /// the program, in RESET. Wraps: rdma_reject(3), ibv_modify_qp(3).
  auto reject(const cm::private_data& data = {}, on_failure policy = throwing{}) {
    session_.id.reject(data, policy);
    if constexpr (Owner == pair_owner::program)
      return policy.failed() ? adverb::queue_pair<Transport, qp_state::reset>{}
                             : take_queue_pair(policy);
    else if (!policy.failed())
      session_.id = {};
  }

  /// Returns the program's queue pair, in RESET, for another connection. RESET discards posted
  /// receives. Empties the request on success. Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    detail::check_owns_pair<connection_request, Owner>();
    auto fresh = pair_.take(policy);
    if (!policy.failed()) session_ = {};
    return fresh;
  }

 private:
  template <transport, step, pair_owner>
  friend class connection_request;
  template <transport>
  friend class cm::listener;

  /// Takes a request to the channel, or to one of its own when that is empty.
  [[nodiscard]] static connection_request taken(event& request, event_channel_ref channel,
                                                on_failure policy) {
    static_assert(Step == step::requested,
                  "a new request has no queue pair: take it in step::requested");
    const cm::private_data data{request.private_data()};
    peer_parameters parameters;
    if constexpr (Transport != transport::ud) parameters = request.parameters();
    cm::identifier id = request.take_request();
    request.acknowledge();
    if (!detail::check_present(policy, "connection_request::take", id.native_handle())) return {};
    auto session = detail::cm_session::of_identifier(std::move(id), channel, policy);
    if (!session.id) return {};
    return {std::move(session), data, parameters};
  }

  /// `disconnected` also ends the step: the kernel handles messages on several processors, so the
  /// disconnect may overtake the event that establishes the connection, or that event may be lost.
  // See docs/decisions.md, "accept() returns connections that have already ended".
  static constexpr detail::cm_step accepting{"rdma_accept", detail::cm_phase::accepting};

  connection_request(detail::cm_session&& session, const cm::private_data& data,
                     const peer_parameters& parameters,
                     detail::connection_pair<Transport, Owner>&& pair = {}) noexcept
      : session_{std::move(session)},
        private_data_{data},
        parameters_{parameters},
        pair_{std::move(pair)} {}

  static constexpr void check_before_accept() noexcept {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connection: call accept_datagrams()");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: call create_queue_pair() first");
  }

  static void refuse_queue_key(on_failure policy, queue_pair_ref<transport::ud, qp_state::any> pair,
                               queue_key key) {
    policy.report(EINVAL, "rdma_accept", [&](failure_description& description) {
      detail::on_object<detail::queue_pair_traits>(pair.native_handle())(description);
      description.explain("its queue key is {}, but librdmacm announces {}",
                          {key, datagram_queue_key});
    });
  }

  detail::cm_session session_;
  cm::private_data private_data_;
  peer_parameters parameters_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
