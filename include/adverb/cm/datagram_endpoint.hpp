// SPDX-License-Identifier: MIT
// Datagram endpoints: an identifier that is bound to a device, with its UD queue pair.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/multicast_membership.hpp>
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A UD queue pair on the device of an address, ready to send to any number of peers and multicast
/// groups, and to receive from them:
///
///     auto here = cm::datagram_endpoint::create(own_address, {.max_send_wr = 16});
///     const cm::datagram_peer peer = here.resolve_peer(address);
///     here.queue_pair().post(send(text).to(peer)).check();
///
/// A connector makes one as well, on the device that leads to an address, and so does a request
/// that comes to a listener. The queue key of the pair is `datagram_queue_key`. It owns the pair,
/// and the completion queues if these were made with it.
class [[nodiscard]] datagram_endpoint {
 public:
  /// Empty.
  datagram_endpoint() noexcept = default;

  /// On an address of this machine; on a port that the kernel chooses when it is 0. Without a
  /// domain the pair is in librdmacm's; without completion queues they are made with it. An address
  /// that stands for every interface names no device (EADDRNOTAVAIL). Wraps:
  /// rdma_create_event_channel(3), rdma_create_id(3), rdma_bind_addr(3), rdma_create_qp(3),
  /// rdma_create_qp_ex(3).
  [[nodiscard]] static datagram_endpoint create(const socket_address& address,
                                                const queue_pair_options& options = {},
                                                protection_domain_ref domain = {},
                                                on_failure policy = throwing{}) {
    return create({}, address, options, domain, policy);
  }
  /// The same, with its events on a channel that others share.
  [[nodiscard]] static datagram_endpoint create(event_channel_ref channel,
                                                const socket_address& address,
                                                const queue_pair_options& options = {},
                                                protection_domain_ref domain = {},
                                                on_failure policy = throwing{}) {
    auto session = detail::cm_session::create(channel, port_space_of(transport::ud), policy);
    if (!session.id) return {};
    session.id.bind(address, policy);
    if (policy.failed()) return {};
    if (!session.id.context()) {
      policy.report(EADDRNOTAVAIL, "rdma_create_qp", [&](failure_description& description) {
        detail::on_object<detail::identifier_traits>(session.id.native_handle())(description);
        description.explain(
            address.is_any()
                ? "the address stands for every interface: a queue pair needs that of one"
                : "no RDMA device has this address, as none has a loopback address");
      });
      return {};
    }
    return make(std::move(session), options, domain, policy);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Ready to send and to receive.
  [[nodiscard]] queue_pair_ref<transport::ud> queue_pair() const noexcept {
    return session_.id.queue_pair<transport::ud>().as<qp_state::rts>();
  }
  [[nodiscard]] context_ref context() const noexcept { return session_.id.context(); }
  /// The port of the device.
  [[nodiscard]] port_number port() const noexcept { return session_.id.port(); }
  /// The domain of the queue pair: memory that it uses is registered there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return session_.id.native_handle()->qp->pd;
  }
  [[nodiscard]] completion_queue_ref send_cq() const noexcept { return session_.id.send_cq(); }
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept { return session_.id.recv_cq(); }
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }

  /// Asks who listens there which queue pair datagrams are to be sent to. A connector does the same
  /// step by step. Thread safe. Defined in <adverb/cm/connector.hpp>. Wraps: rdma_create_id(3),
  /// rdma_resolve_addr(3), rdma_resolve_route(3), rdma_connect(3).
  [[nodiscard]] datagram_peer resolve_peer(const socket_address& to,
                                           const peer_options& options = {},
                                           on_failure policy = throwing{}) const;

  /// Joins a multicast group, which the queue pair receives from then on unless it only sends. The
  /// membership has to end before the endpoint. One thread at a time.
  /// Wraps: rdma_join_multicast(3), rdma_join_multicast_ex(3).
  [[nodiscard]] multicast_membership join(const socket_address& group,
                                          const multicast_options& options = {},
                                          on_failure policy = throwing{}) const {
    constexpr std::string_view verb = "rdma_join_multicast";
    if (!session_.can_wait(verb, policy)) return {};
    multicast_join joining = start_join(group, options, policy);
    if (policy.failed()) return {};
    return session_.wait(options.timeout, verb, policy, [&] { return joining.finish(policy); });
  }
  /// Starts to, without blocking: `finish` of what it returns makes the membership. The time limit
  /// of the options is not looked at.
  [[nodiscard]] multicast_join start_join(const socket_address& group,
                                          const multicast_options& options = {},
                                          on_failure policy = throwing{}) const {
    if (groups_ == nullptr) groups_ = std::make_shared<detail::group_list>();
    return {session_.id, session_.channel, groups_, group, options, policy};
  }

  /// For what is not here.
  [[nodiscard]] identifier_ref identifier() const noexcept { return session_.id; }

  /// Readable when an event is there, for instance that a group is lost. That of the channel, where
  /// it is shared; -1 when the endpoint is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }
  /// The next event, or nothing when there is none. Does not block. Refuses (EINVAL) when the
  /// channel is shared. A group that the network has ended gives `multicast_error`, and its
  /// membership `is_lost`.
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) const {
    std::optional<event> next = session_.next_event("rdma_get_cm_event", policy);
    if (next) note(*next);
    return next;
  }
  /// Takes note of an event of this endpoint that came on a shared channel, for `is_lost` of its
  /// memberships. One of another identifier changes nothing.
  void note(const event& happened) const noexcept {
    if (groups_ != nullptr && happened.identifier() == session_.id) groups_->note(happened);
  }

  /// Destroys the queue pair and the identifier now, and reports an error.
  void close(on_failure policy = throwing{}) { session_.id.close(policy); }

 private:
  template <transport, step, pair_owner>
  friend class connector;
  template <transport, step, pair_owner>
  friend class connection_request;

  explicit datagram_endpoint(detail::cm_session&& session) noexcept
      : session_{std::move(session)} {}

  /// Moves from the session, but only when the pair is made.
  [[nodiscard]] static datagram_endpoint make(detail::cm_session&& session,
                                              const queue_pair_options& options,
                                              protection_domain_ref domain, on_failure policy) {
    session.id.create_queue_pair<transport::ud>(options, domain, policy);
    if (policy.failed()) return {};
    return datagram_endpoint{std::move(session)};
  }

  detail::cm_session session_;
  mutable std::shared_ptr<detail::group_list> groups_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
