// SPDX-License-Identifier: MIT
// Listeners: where requests to connect come in.
#pragma once

#include <optional>
#include <utility>

#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/create_endpoint.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What a listener is made with.
struct listener_options {
  /// How many requests may queue up; as many as the kernel allows when 0.
  int backlog = 0;
  /// Listens even if the port was used until just now, as SO_REUSEADDR does. Not for UC and XRC,
  /// whose listeners librdmacm binds when it makes them.
  bool reuse_address = false;
};

/// Waits for requests to connect:
///
///     auto listener = cm::listener<transport::rc>::create(cm::socket_address::any(7471));
///     while (true) serve(listener.accept());
///
/// Thread safe: of several threads that wait on one, each request wakes one.
template <transport Transport>
class [[nodiscard]] listener {
 public:
  /// Empty.
  listener() noexcept = default;

  /// On an address of this machine, or on all (`socket_address::any`); on a port that the kernel
  /// chooses when it is 0. A listener of XRC targets is one of `transport::xrc_recv`.
  /// Wraps: rdma_create_event_channel(3), rdma_create_id(3), rdma_create_ep(3), rdma_bind_addr(3),
  /// rdma_listen(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] static listener create(const socket_address& address,
                                       const listener_options& options = {}, Policy&& policy = {}) {
    auto session = bound(address, options, std::forward<Policy>(policy));
    if (!session.id) return {};
    session.id.listen(options.backlog, std::forward<Policy>(policy));
    if (detail::failed(policy)) return {};
    return listener{std::move(session)};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  [[nodiscard]] identifier_ref id() const noexcept { return session_.id; }
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return local_address().port(); }

  /// Readable when a request is there.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.channel.file_descriptor(); }

  /// Waits for the next request. Nothing (ETIMEDOUT) when none came in time, or a signal handler
  /// ran meanwhile (EINTR): both are reported.
  template <error_policy Policy = throwing>
  [[nodiscard]] connection_request<Transport> next_request(timeout limit = timeout::endless(),
                                                           Policy&& policy = {}) const {
    auto event = session_.wait_for(event_type::connect_request, limit, "listener::next_request",
                                   std::forward<Policy>(policy));
    if (!event) return {};
    return connection_request<Transport>::take(*event, std::forward<Policy>(policy));
  }

 private:
  template <error_policy Policy>
  [[nodiscard]] static detail::cm_session bound(const socket_address& address,
                                                const listener_options& options, Policy&& policy) {
    static_assert(Transport != transport::xrc_send,
                  "the initiator of XRC connects; what listens is its target: transport::xrc_recv");
    if constexpr (detail::needs_endpoint(Transport)) {
      cm::identifier id =
          detail::create_endpoint(std::forward<Policy>(policy), Transport, address, {});
      if (!id) return {};
      return detail::cm_session::of_request(std::move(id), std::forward<Policy>(policy));
    } else {
      auto session =
          detail::cm_session::create(port_space_of(Transport), std::forward<Policy>(policy));
      if (!session.id) return {};
      if (options.reuse_address) session.id.set_reuse_address(true, std::forward<Policy>(policy));
      if (detail::failed(policy)) return {};
      session.id.bind(address, std::forward<Policy>(policy));
      if (detail::failed(policy)) return {};
      return session;
    }
  }

  explicit listener(detail::cm_session&& session) noexcept : session_{std::move(session)} {}

  detail::cm_session session_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
