// SPDX-License-Identifier: MIT
// Requests to connect: the side of a connection that is asked for it.
#pragma once

#include <type_traits>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A request that came to a listener: it is accepted or rejected, and rejected when it dies before.
///
///     auto request = listener.next_request();
///     if (!welcome(request.private_data().as<greeting>())) return request.reject();
///     auto ready = request.create_queue_pair({.max_recv_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<> connection = ready.accept();
///
/// Each step moves from the request, but only when it succeeds. `accept` blocks until the peer has
/// confirmed; `start_accept`, `file_descriptor` and `finish` do the same without blocking, as those
/// of a `connector`.
///
/// `use_queue_pair` takes a queue pair that the program made. A request for datagrams asks where to
/// send them: `accept_datagrams` answers with the number of a queue pair, which any number of
/// requests can share.
template <transport Transport, step Step, pair_owner Owner>
class [[nodiscard]] connection_request {
 public:
  /// Empty.
  connection_request() noexcept = default;

  /// Takes over the identifier of a request, and has its events come on a channel of its own.
  [[nodiscard]] static connection_request take(event& request, on_failure policy = throwing{}) {
    return take(request, {}, policy);
  }
  /// The same, with its events on a channel that others share.
  [[nodiscard]] static connection_request take(event& request, event_channel_ref channel,
                                               on_failure policy = throwing{}) {
    static_assert(Step == step::requested, "a request comes without a queue pair");
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

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// For what is not here: options, enhancements.
  [[nodiscard]] identifier_ref identifier() const noexcept { return session_.id; }

  /// The device that the request came in by. It belongs to librdmacm.
  [[nodiscard]] context_ref context() const noexcept { return session_.id.context(); }
  /// The domain that the queue pair is in, or will be in if none is given.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return session_.id.protection_domain();
  }
  [[nodiscard]] socket_address peer_address() const noexcept { return session_.id.peer_address(); }
  /// What the peer's program sent along.
  [[nodiscard]] const cm::private_data& private_data() const noexcept { return private_data_; }
  /// What the peer asks for.
  [[nodiscard]] const peer_parameters& parameters() const noexcept {
    static_assert(Transport != transport::ud,
                  "a request for datagrams (UD) has no parameters, only private data");
    return parameters_;
  }

  /// Makes the queue pair. Without a domain it is in librdmacm's; without completion queues they
  /// are made with it. Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  [[nodiscard]] connection_request<Transport, step::ready> create_queue_pair(
      const queue_pair_options& options = {}, protection_domain_ref domain = {},
      on_failure policy = throwing{}) {
    static_assert(Step == step::requested, "the queue pair is there already");
    session_.id.template create_queue_pair<Transport>(options, domain, policy);
    if (policy.failed()) return {};
    return {std::move(session_), private_data_, parameters_};
  }

  /// Takes a queue pair that the program made on this device, and puts it into INIT. Moves from
  /// both, but only when it succeeds. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connection_request<Transport, step::ready, pair_owner::program> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: accept_datagrams(pair) tells the peer of a "
                  "pair of one's own");
    static_assert(Step == step::requested, "the queue pair is there already");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_), private_data_, parameters_,
            detail::connection_pair<Transport, pair_owner::program>{std::move(fresh)}};
  }

  /// The queue pair before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, detail::created_state(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "there is no queue pair yet: create_queue_pair() first");
    return pair_.pair(session_.id).template as<detail::created_state(Transport)>();
  }

  /// Accepts, and waits until the connection is there; when its event did not come (ETIMEDOUT,
  /// EINTR, or ECANCELED when the descriptor of the time limit woke it) it waits on when it is
  /// tried again. A pair of the program's is put into RTR and RTS as the two sides agree; when a
  /// call failed there, another attempt goes on from that call. After any other failure the request
  /// can only be destroyed, or give the program's pair back. A peer that has disconnected meanwhile
  /// gives a connection that `has_ended`: what it sent is there. Wraps: rdma_accept(3),
  /// rdma_init_qp_attr(3), ibv_modify_qp(3).
  [[nodiscard]] connection<Transport, Owner> accept(const connection_parameters& options = {},
                                                    timeout limit = detail::seconds{10},
                                                    on_failure policy = throwing{}) {
    check_before_accept();
    return session_.take_step(
        limit, accepting.verb, policy,
        [&] { pair_.accept(session_.id, options, parameters_, policy); },
        [&] { return finish(policy); });
  }
  /// Starts to, without blocking. Wraps: rdma_accept(3), rdma_init_qp_attr(3), ibv_modify_qp(3).
  void start_accept(const connection_parameters& options = {}, on_failure policy = throwing{}) {
    check_before_accept();
    session_.start(accepting.verb, policy,
                   [&] { pair_.accept(session_.id, options, parameters_, policy); });
  }

  /// Becomes readable when an event is there: then call `finish`. -1 when it is empty. That of the
  /// channel, where it is shared.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }

  /// The connection that was started to be accepted, and empties the request; or an empty one as
  /// long as its event is not there. Does not block. Fails as `accept` does, but never with
  /// ETIMEDOUT. Refuses (EINVAL) when nothing was started, and when the channel is shared.
  /// Wraps: rdma_get_cm_event(3).
  [[nodiscard]] connection<Transport, Owner> finish(on_failure policy = throwing{}) {
    check_before_accept();
    if (!session_.is_started(accepting.verb, policy)) return {};
    return session_.take_events(accepting.verb, policy,
                                [&](event& happened) { return finish(happened, policy); });
  }
  /// The same with an event of a shared channel, which it acknowledges. Refuses (EINVAL) one of
  /// another identifier.
  [[nodiscard]] connection<Transport, Owner> finish(event& happened,
                                                    on_failure policy = throwing{}) {
    check_before_accept();
    if (!session_.is_about(happened, accepting.verb, policy)) return {};
    const bool ended = session_.is_ended_by(happened, accepting, policy, [](const event&) {});
    const bool over = happened.type() == event_type::disconnected;
    happened.acknowledge();
    if (!ended) return {};
    return {std::move(session_), private_data_, parameters_, std::move(pair_), over};
  }

  /// Accepts datagrams (UD) with the queue pair that was made for the request, and bytes for the
  /// program at the other side: up to 136. Does not block, and no event says whether the answer
  /// arrived: a peer that misses it asks again. Wraps: rdma_accept(3).
  [[nodiscard]] datagram_endpoint accept_datagrams(const cm::private_data& data = {},
                                                   on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "only datagrams (UD) are taken without a connection: accept()");
    static_assert(
        Transport != transport::ud || Step == step::ready,
        "there is no queue pair yet: create_queue_pair() first, or accept_datagrams(pair) "
        "with one of your own");
    session_.id.accept({.private_data = data}, policy);
    if (policy.failed()) return {};
    return datagram_endpoint{std::move(session_)};
  }

  /// The same with a pair that was not made for the request, and may serve others as well. The
  /// answer names `datagram_queue_key`, so the pair has to have it (EINVAL). The request is empty
  /// then.
  void accept_datagrams(queue_pair_ref<transport::ud, qp_state::any> pair,
                        const cm::private_data& data = {}, on_failure policy = throwing{}) {
    static_assert(Transport == transport::ud,
                  "only datagrams (UD) are taken without a connection: accept()");
    static_assert(Transport != transport::ud || Step == step::requested,
                  "the request has a queue pair of its own: accept_datagrams() without one");
    const auto attributes = pair.query(policy);
    if (policy.failed()) return;
    if (attributes.queue_key() != datagram_queue_key) {
      refuse_queue_key(policy, pair, attributes.queue_key());
      return;
    }
    session_.id.accept({.private_data = data, .queue_pair_number = pair.number()}, policy);
    if (!policy.failed()) session_.id = {};
  }

  /// Rejects, with bytes for the program at the other side. The request is empty then; a pair of
  /// the program's is given back, in RESET. Wraps: rdma_reject(3), ibv_modify_qp(3).
  auto reject(const cm::private_data& data = {}, on_failure policy = throwing{}) {
    session_.id.reject(data, policy);
    if constexpr (Owner == pair_owner::program)
      return policy.failed() ? adverb::queue_pair<Transport, qp_state::reset>{}
                             : take_queue_pair(policy);
    else if (!policy.failed())
      session_.id = {};
  }

  /// Gives the program's pair back, in RESET, for another connection. Receives that were posted are
  /// forgotten. Empty then, unless it fails. Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    static_assert(Owner == pair_owner::program,
                  "librdmacm made the queue pair: this is for one that use_queue_pair() took");
    auto fresh = pair_.take(policy);
    if (!policy.failed()) session_ = {};
    return fresh;
  }

 private:
  template <transport, step, pair_owner>
  friend class connection_request;

  /// A peer that disconnects has had its connection, although the event that says so is still to
  /// come, or is lost (the kernel handles messages on several processors, so that the end may
  /// overtake the beginning).
  // See docs/decisions.md, "accept() returns connections that have already ended".
  static constexpr detail::cm_step accepting{"rdma_accept", event_type::established,
                                             event_type::disconnected};

  connection_request(detail::cm_session&& session, const cm::private_data& data,
                     const peer_parameters& parameters,
                     detail::connection_pair<Transport, Owner>&& pair = {}) noexcept
      : session_{std::move(session)},
        private_data_{data},
        parameters_{parameters},
        pair_{std::move(pair)} {}

  static constexpr void check_before_accept() noexcept {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: accept_datagrams() tells the peer where to "
                  "send them");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: create_queue_pair() first");
  }

  static void refuse_queue_key(on_failure policy, queue_pair_ref<transport::ud, qp_state::any> pair,
                               queue_key key) {
    policy.report(EINVAL, "rdma_accept", [&](failure_description& description) {
      detail::on_object<detail::queue_pair_traits>(pair.native_handle())(description);
      description.explain([&](text_writer& writer) {
        writer.put("its queue key is ").put(key).put(", and librdmacm tells peers ");
        writer.put(datagram_queue_key);
      });
    });
  }

  detail::cm_session session_;
  cm::private_data private_data_;
  peer_parameters parameters_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
