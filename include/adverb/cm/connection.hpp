// SPDX-License-Identifier: MIT
// Connections: an identifier with its queue pair, both ready.
#pragma once

#include <optional>
#include <utility>

#include <adverb/cm/connection_options.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/cm/session.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A connection that is established: made by `connector` on the one side, and by
/// `connection_request` on the other, or by `cm::connect` and `listener::accept` in one line. It
/// owns its queue pair, and the completion queues if these were made with it.
///
/// When the peer disconnects the queue pair goes to ERR, and what is posted is flushed; an event
/// tells (see `next_event`).
template <transport Transport>
class [[nodiscard]] connection {
 public:
  /// Empty.
  connection() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Ready to send; after a disconnect posting still flushes.
  [[nodiscard]] queue_pair_ref<Transport> queue_pair() const noexcept {
    return session_.id.template queue_pair<Transport>().template as<qp_state::rts>();
  }
  [[nodiscard]] context_ref context() const noexcept { return session_.id.context(); }
  /// The domain of the queue pair: memory that it uses is registered there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return session_.id.protection_domain();
  }
  [[nodiscard]] completion_queue_ref send_completion_queue() const noexcept {
    return session_.id.send_completion_queue();
  }
  [[nodiscard]] completion_queue_ref receive_completion_queue() const noexcept {
    return session_.id.receive_completion_queue();
  }
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  [[nodiscard]] socket_address peer_address() const noexcept { return session_.id.peer_address(); }

  /// What the peer's program sent along when the connection was made.
  [[nodiscard]] const cm::private_data& private_data() const noexcept { return private_data_; }
  /// What the peer said of its side.
  [[nodiscard]] const connection_parameters& parameters() const noexcept { return parameters_; }

  /// For what is not here.
  [[nodiscard]] identifier_ref id() const noexcept { return session_.id; }

  /// Readable when an event is there, for instance that the peer has disconnected.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.channel.file_descriptor(); }
  /// The next event, or nothing when there is none.
  template <error_policy Policy = throwing>
  [[nodiscard]] std::optional<event> next_event(Policy&& policy = {}) const {
    return session_.channel.next_event(std::forward<Policy>(policy));
  }

  /// Ends the connection, and waits until the peer has heard of it, which it may never do
  /// (ETIMEDOUT). What is posted is flushed: poll for it until then. Wraps: rdma_disconnect(3).
  template <error_policy Policy = throwing>
  void disconnect(timeout limit = timeout::seconds(10), Policy&& policy = {}) {
    session_.id.disconnect(std::forward<Policy>(policy));
    if (detail::failed(policy)) return;
    wait_disconnected(limit, std::forward<Policy>(policy));
  }
  /// Waits until the peer has ended the connection, or this side has.
  template <error_policy Policy = throwing>
  void wait_disconnected(timeout limit, Policy&& policy = {}) const {
    static_cast<void>(session_.wait_for(event_type::disconnected, limit, "connection::disconnect",
                                        std::forward<Policy>(policy)));
  }

  /// Gives up the connection as an identifier, whose events come on a channel that it may share
  /// with others: one loop serves many. Those that came already come there. Empty afterwards,
  /// unless it fails. No event of the connection may be kept meanwhile. Wraps: rdma_migrate_id(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] identifier migrate(event_channel_ref channel, Policy&& policy = {}) {
    session_.id.migrate(channel, std::forward<Policy>(policy));
    if (detail::failed(policy)) return {};
    return std::move(session_.id);
  }

  /// Destroys the queue pair and the identifier now, and reports an error.
  template <error_policy Policy = throwing>
  void close(Policy&& policy = {}) {
    session_.id.close(std::forward<Policy>(policy));
  }

 private:
  template <transport, step>
  friend class connector;
  template <transport, step>
  friend class connection_request;
  template <transport>
  friend class connection_of_own_pair;

  connection(detail::cm_session&& session, const cm::private_data& data,
             const connection_parameters& parameters) noexcept
      : session_{std::move(session)}, private_data_{data}, parameters_{parameters} {}

  detail::cm_session session_;
  cm::private_data private_data_;
  connection_parameters parameters_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
