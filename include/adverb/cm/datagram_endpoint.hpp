// SPDX-License-Identifier: MIT
// Datagram endpoints: an identifier bound to a device, and its UD queue pair.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/datagram_peer.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/multicast_membership.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A UD queue pair that exchanges datagrams with any number of peers and multicast groups, on the
/// device of an address:
///
///     auto here = cm::datagram_endpoint::create(own_address, {.max_send_wr = 16});
///     const cm::datagram_peer peer = here.resolve_peer(address);
///     here.queue_pair().post(send(text).to(peer)).check();
///
/// A connector also creates an endpoint, on the device that leads to an address, and so does a
/// request to a listener. The queue key of the queue pair is `datagram_queue_key`. The endpoint
/// owns the queue pair, and the completion queues if these were created with the queue pair.
class [[nodiscard]] datagram_endpoint {
 public:
  /// Creates an empty endpoint.
  datagram_endpoint() noexcept = default;

  /// Creates an endpoint on a local address. The kernel chooses the port if it is 0. The default
  /// protection domain is librdmacm's. Completion queues that the options omit are created with the
  /// queue pair. Fails with EADDRNOTAVAIL if the address is a wildcard, which selects no device.
  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3), rdma_bind_addr(3), rdma_create_qp(3),
  /// rdma_create_qp_ex(3).
  [[nodiscard]] static datagram_endpoint create(const socket_address& address,
                                                const queue_pair_options& options = {},
                                                protection_domain_ref domain = {},
                                                on_failure policy = throwing{}) {
    return created({}, address, options, domain, policy);
  }
  /// Creates an endpoint on a shared event channel.
  [[nodiscard]] static datagram_endpoint create(event_channel_ref channel,
                                                const socket_address& address,
                                                const queue_pair_options& options = {},
                                                protection_domain_ref domain = {},
                                                on_failure policy = throwing{});
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  [[nodiscard]] static datagram_endpoint create(const Text&, const Rest&...) {
    detail::reject_address_text<Text>();
    return {};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Returns the queue pair, ready to send and receive.
  [[nodiscard]] queue_pair_ref<transport::ud> queue_pair() const noexcept ADVERB_LIFETIME_BOUND;
  /// Returns the bound device.
  [[nodiscard]] context_ref context() const noexcept { return session_.id.context(); }
  /// Returns the port of the device.
  [[nodiscard]] port_number port() const noexcept { return session_.id.port(); }
  /// Returns the protection domain of the queue pair. Register its memory there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return queue_pair().protection_domain();
  }
  /// Returns the completion queue for sends.
  [[nodiscard]] completion_queue_ref send_cq() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id.send_cq();
  }
  /// Returns the completion queue for receives.
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id.recv_cq();
  }
  /// Returns the local address.
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }

  /// Requests from the listener at an address the queue pair that receives datagrams. A connector
  /// does the same step by step. Thread safe. Defined in <adverb/cm/connector.hpp>.
  /// Wraps: rdma_create_id(3), rdma_resolve_addr(3), rdma_resolve_route(3), rdma_connect(3).
  [[nodiscard]] datagram_peer resolve_peer(const socket_address& to,
                                           const peer_options& options = {},
                                           on_failure policy = throwing{}) const;

  /// Joins a multicast group. The queue pair receives from it unless the membership is send-only.
  /// The membership must end before the endpoint. Only one thread at a time may call it.
  /// Wraps: rdma_join_multicast(3), rdma_join_multicast_ex(3).
  [[nodiscard]] multicast_membership join(const socket_address& group,
                                          const multicast_options& options = {},
                                          on_failure policy = throwing{}) const;
  /// Starts `join` without blocking. `finish` of the returned object creates the membership.
  /// Ignores the time limit in the options.
  [[nodiscard]] multicast_join start_join(const socket_address& group,
                                          const multicast_options& options = {},
                                          on_failure policy = throwing{}) const;

  /// Returns the identifier, for calls that this class lacks.
  [[nodiscard]] identifier_ref identifier() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id;
  }

  /// Returns a descriptor that becomes readable when an event is pending, such as the loss of a
  /// group. It is the descriptor of the channel, even if the channel is shared. Returns -1 if the
  /// endpoint is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }
  /// Returns the next event, or nothing if none is pending. Does not block. Fails with EINVAL if
  /// the channel is shared. If the network ends a group, the event is `multicast_error` and
  /// `is_lost` of the membership becomes true.
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) const;
  /// Records an event from a shared channel, for `is_lost` of the memberships. Ignores events of
  /// other identifiers.
  void note(const event& happened) const noexcept;

  /// Destroys the queue pair and the identifier, and reports errors.
  void close(on_failure policy = throwing{}) { session_.id.close(policy); }

 private:
  template <transport, step, pair_owner>
  friend class connector;
  template <transport, step, pair_owner>
  friend class connection_request;

  /// Creates an endpoint on the channel, or on one of its own when that is empty.
  [[nodiscard]] static datagram_endpoint created(event_channel_ref channel,
                                                 const socket_address& address,
                                                 const queue_pair_options& options,
                                                 protection_domain_ref domain, on_failure policy);

  explicit datagram_endpoint(detail::cm_session&& session) noexcept
      : session_{std::move(session)} {}

  /// Creates an endpoint, and moves from the session only if the queue pair is created.
  [[nodiscard]] static datagram_endpoint make(detail::cm_session&& session,
                                              const queue_pair_options& options,
                                              protection_domain_ref domain, on_failure policy);

  detail::cm_session session_;
  mutable std::shared_ptr<detail::group_list> groups_;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/datagram_endpoint.ipp>
#endif
