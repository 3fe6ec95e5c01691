// SPDX-License-Identifier: MIT
// Requests to connect: the side of a connection that is asked for it.
#pragma once

#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/datagram_endpoint.hpp>
#include <adverb/cm/detail/state_when_made.hpp>
#include <adverb/cm/request_of_own_pair.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A request that came to a listener: it is accepted or rejected, and rejected when it dies before.
///
///     auto request = listener.next_request();
///     if (!welcome(request.private_data().as<greeting>())) return request.reject();
///     auto ready = request.create_queue_pair({.max_recv_wr = 16});
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection<transport::rc> connection = ready.accept();
///
/// Each step moves from the request, but only when it succeeds.
///
/// A request for datagrams asks where to send them: `accept_datagrams` tells it the number of a
/// queue pair, which any number of requests can share.
template <transport Transport, step Step = step::requested>
class [[nodiscard]] connection_request {
 public:
  /// Empty.
  connection_request() noexcept = default;

  /// Takes over the identifier of a request, and has its events come on a channel of its own.
  [[nodiscard]] static connection_request take(event& request, on_failure policy = throwing{}) {
    static_assert(Step == step::requested, "a request comes without a queue pair");
    const cm::private_data data{request.private_data()};
    connection_parameters parameters;
    if constexpr (Transport != transport::ud) parameters = request.parameters();
    cm::identifier id = request.take_request();
    request.acknowledge();
    if (!detail::check_present(policy, "connection_request::take", id.native_handle())) return {};
    auto session = detail::cm_session::of_request(std::move(id), policy);
    if (!session.id) return {};
    return {std::move(session), data, parameters};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// For what is not here: options, enhancements.
  [[nodiscard]] identifier_ref id() const noexcept { return session_.id; }

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
  [[nodiscard]] const connection_parameters& parameters() const noexcept {
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
  [[nodiscard]] request_of_own_pair<Transport> use_queue_pair(
      adverb::queue_pair<Transport, qp_state::reset>&& fresh, on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: accept_datagrams(pair) tells the peer of a "
                  "pair of one's own");
    static_assert(Step == step::requested, "the queue pair is there already");
    if (!detail::begin_own_pair(policy, session_.id, fresh.native_handle())) return {};
    return {std::move(session_), private_data_, parameters_, std::move(fresh)};
  }

  /// The queue pair before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, detail::state_when_made(Transport)> queue_pair()
      const noexcept {
    static_assert(Step == step::ready, "there is no queue pair yet: create_queue_pair() first");
    return session_.id.template queue_pair<Transport>()
        .template as<detail::state_when_made(Transport)>();
  }

  /// Accepts, and waits until the connection is there; when its event did not come (ETIMEDOUT, or
  /// EINTR when a signal handler ran) it waits on when it is tried again. After any other failure
  /// the request can only be destroyed. A peer that has disconnected meanwhile gives a connection
  /// that `has_ended`: what it sent is there. Wraps: rdma_accept(3).
  [[nodiscard]] connection<Transport> accept(const connection_options& options = {},
                                             timeout limit = timeout::seconds(10),
                                             on_failure policy = throwing{}) {
    static_assert(Transport != transport::ud,
                  "datagrams (UD) have no connections: accept_datagrams() tells the peer where to "
                  "send them");
    static_assert(Transport == transport::ud || Step == step::ready,
                  "a connection needs a queue pair: create_queue_pair() first");
    const auto event = session_.take_step(
        detail::accepted, limit, "rdma_accept",
        [&](auto&& start_policy) {
          session_.id.accept(options, std::forward<decltype(start_policy)>(start_policy));
        },
        policy);
    if (!event) return {};
    return {std::move(session_), private_data_, parameters_,
            event->type() == event_type::disconnected};
  }

  /// Accepts datagrams (UD) with the queue pair that was made for the request, and bytes for the
  /// program at the other side: up to 136. Nobody is waited for, and nothing tells whether the
  /// answer arrived: who asked asks again. Wraps: rdma_accept(3).
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
  /// peer is told `datagram_queue_key`, so the pair has to have it (EINVAL). The request is empty
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

  /// Rejects, with bytes for the program at the other side. The request is empty then.
  /// Wraps: rdma_reject(3).
  void reject(const cm::private_data& data = {}, on_failure policy = throwing{}) {
    session_.id.reject(data, policy);
    if (!policy.failed()) session_.id = {};
  }

 private:
  template <transport, step>
  friend class connection_request;

  connection_request(detail::cm_session&& session, const cm::private_data& data,
                     const connection_parameters& parameters) noexcept
      : session_{std::move(session)}, private_data_{data}, parameters_{parameters} {}

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
  connection_parameters parameters_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
