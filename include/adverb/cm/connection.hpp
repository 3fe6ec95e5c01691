// SPDX-License-Identifier: MIT
// Established connections: an identifier and its connected queue pair.
#pragma once

#include <cerrno>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/connection_pair.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/cm/queue_drain.hpp>
#include <adverb/queue/queue_pair.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An established connection. It owns its queue pair, and the completion queues if these were
/// created with the queue pair. `connector` creates it on the active side and `connection_request`
/// on the passive side; `cm::connect` and `listener::accept` create it in one line. If the owner is
/// `pair_owner::program`, the queue pair is the one passed to `use_queue_pair`; `take_queue_pair`
/// returns it.
///
/// For an orderly shutdown, one side stops posting, waits for its completions, and then calls:
///
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// The other side does the same after its peer has disconnected:
///
///     connection.wait_disconnected(timeout::endless());  // or an event: see next_event
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// `drain` also reports the completions of messages that had already arrived. Only `disconnect`
/// moves this side's queue pair to ERR and answers the waiting peer.
///
/// Every operation has a non-blocking form. Watch `file_descriptor()` for `next_event`, disconnect
/// with `start_disconnect`, and empty the queues with `start_drain`. One loop can serve thousands
/// of connections on one channel: `migrate` moves the events there, and `note` records each of
/// them.
///
/// Only one thread at a time may call the functions that take events: `next_event`, `note`, `wait`,
/// `wait_disconnected`, `disconnect`.
template <transport Transport, pair_owner Owner>
class [[nodiscard]] connection {
 public:
  /// Creates an empty connection.
  connection() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Returns the queue pair, ready to send. Requests that are posted after a disconnect are
  /// flushed.
  [[nodiscard]] queue_pair_ref<Transport> queue_pair() const noexcept ADVERB_LIFETIME_BOUND {
    return pair_.pair(session_.id).template as<qp_state::rts>();
  }
  /// Returns the context of the queue pair. The context of a queue pair of the program may be
  /// another context of the device than librdmacm's.
  [[nodiscard]] context_ref context() const noexcept { return queue_pair().context(); }
  /// Returns the protection domain of the queue pair. Register its memory there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return queue_pair().protection_domain();
  }
  /// Returns the completion queue for sends.
  [[nodiscard]] completion_queue_ref send_cq() const noexcept ADVERB_LIFETIME_BOUND {
    return queue_pair().send_cq();
  }
  /// Returns the completion queue for receives.
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept ADVERB_LIFETIME_BOUND {
    return queue_pair().recv_cq();
  }
  /// Returns the local address.
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  /// Returns the address of the peer.
  [[nodiscard]] socket_address peer_address() const noexcept { return session_.id.peer_address(); }

  /// Returns the private data that the peer sent when the connection was established.
  [[nodiscard]] const cm::private_data& private_data() const noexcept ADVERB_LIFETIME_BOUND {
    return private_data_;
  }
  /// Returns the connection parameters of the peer.
  [[nodiscard]] const peer_parameters& parameters() const noexcept ADVERB_LIFETIME_BOUND {
    return parameters_;
  }

  /// Returns the identifier, for calls that this class lacks.
  [[nodiscard]] identifier_ref identifier() const noexcept ADVERB_LIFETIME_BOUND {
    return session_.id;
  }

  /// Returns a descriptor that becomes readable when an event is pending, such as a disconnect of
  /// the peer. Watch it beside the descriptors of the completion channels. It is the descriptor of
  /// the channel, even if the channel is shared. Returns -1 if the connection is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }
  /// Returns the next event, or nothing if none is pending. Does not block. Fails with EINVAL if
  /// the channel is shared.
  ///
  /// - `disconnected`: either side has ended the connection.
  /// - `rejected`: the peer's process ended before its kernel had confirmed the connection.
  /// - `timewait_exit`: follows some time after `disconnected`.
  /// - `device_removal`: every object on the device must be destroyed; no other operation is
  ///   possible.
  /// - `address_change`: the local address moved to another device; the connection may no longer
  ///   work.
  /// - `unreachable`: the hardware address of the neighbour has changed (Linux 6.0 and later); the
  ///   connection goes on.
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) {
    std::optional<event> next = session_.next_event("rdma_get_cm_event", policy);
    if (next) note(*next);
    return next;
  }
  /// Records an event from a shared channel, for `has_ended`. Ignores events of other identifiers.
  void note(const event& happened) noexcept {
    if (happened.identifier() == session_.id &&
        detail::meaning_of(happened, detail::cm_phase::connected) == detail::event_meaning::end)
      has_ended_ = true;
  }
  /// Returns true if an event that was taken has ended the connection or removed its device.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// Moves the events, including pending ones, to a shared event channel. One loop can then serve
  /// many connections and pass each event to `note` of the connection with the same `identifier()`.
  /// Calls that wait for events then fail with EINVAL. The program must not hold an unacknowledged
  /// event of the connection during the call. Wraps: rdma_migrate_id(3).
  void migrate(event_channel_ref channel, on_failure policy = throwing{}) {
    session_.migrate(channel, policy);
  }

  /// Blocks until a queue of the connection has completions or the connection ends. On InfiniBand
  /// and RoCE, a peer that disconnects causes no completion, so a wait on the queue alone would
  /// never return.
  ///
  ///     while (true) {
  ///       const auto found = connection.wait(connection.recv_cq(), batch);
  ///       if (found.empty()) break;
  ///       for (const completion& each : found) …
  ///     }
  ///
  /// Returns an empty span if the connection has ended (`has_ended`) and no earlier completion is
  /// left. Also returns an empty span if the time limit expires, a signal handler runs, or the
  /// descriptor of the time limit becomes readable. iWARP flushes posted requests before the event
  /// arrives; these completions are returned like any other. The queue needs its own completion
  /// channel; queues created by librdmacm have one. Takes events.
  [[nodiscard]] std::span<completion> wait(completion_queue_ref queue, std::span<completion> out,
                                           timeout limit = timeout::endless(),
                                           on_failure policy = throwing{}) {
    if (!session_.can_wait("connection::wait", policy)) return {};
    const detail::deadline until{limit};
    while (true) {
      // Polls without blocking and arms the queue, so that later completions raise an event.
      const auto found = queue.wait(out, detail::seconds{0}, policy);
      if (!found.empty() || has_ended_ || policy.failed() ||
          until.wait_either_readable(queue.channel().file_descriptor(), file_descriptor()) !=
              detail::wait_end::readable)
        return found;
      static_cast<void>(next_event(policy));
      if (policy.failed()) return {};
    }
  }

  /// Ends the connection, flushes posted requests, and blocks until the peer has answered. The
  /// connection has ended on this side even if the wait fails: with ETIMEDOUT if the peer does not
  /// answer, EHOSTUNREACH if the kernel gives up before, EINTR if a signal handler runs, or
  /// ECANCELED if the descriptor of the time limit becomes readable. If the peer has already ended
  /// the connection, this call answers it. Further calls are harmless. Wraps: rdma_disconnect(3),
  /// ibv_modify_qp(3).
  void disconnect(timeout limit = detail::seconds{10}, on_failure policy = throwing{}) {
    if (!session_.can_wait("rdma_disconnect", policy)) return;
    start_disconnect(policy);
    if (!policy.failed()) wait_disconnected(limit, policy);
  }
  /// Starts `disconnect` without blocking. A `disconnected` event follows when the peer has
  /// answered. Wraps: rdma_disconnect(3), ibv_modify_qp(3).
  void start_disconnect(on_failure policy = throwing{}) {
    pair_.flush(policy);
    if (!policy.failed()) session_.id.disconnect(policy);
  }
  /// Blocks until the peer or this side has ended the connection. Fails with ENODEV if the device
  /// was removed. It can be called again after ETIMEDOUT (the time limit expired), EINTR (a signal
  /// handler ran) or ECANCELED (the descriptor of the time limit became readable). Does not answer
  /// the peer; `disconnect` does.
  void wait_disconnected(timeout limit, on_failure policy = throwing{}) {
    constexpr const char* verb = "connection::disconnect";
    policy.clear();
    if (has_ended_) return;
    const auto ended_by = [&](const event& happened) {
      note(happened);
      if (!has_ended_) return false;
      // A peer whose process ended during the handshake rejects the connection afterwards.
      const bool well = happened.type() == event_type::rejected ||
                        (happened.type() == event_type::disconnected && happened.status() == 0);
      if (!well) detail::report_event(session_.id, happened, verb, policy);
      return well;
    };
    static_cast<void>(session_.wait(limit, verb, policy,
                                    [&] { return session_.take_events(verb, policy, ended_by); }));
  }
  /// Moves a queue pair of the program to ERR, which flushes posted requests. Call it after the
  /// peer has disconnected; librdmacm does not do it for a queue pair that it did not create. On
  /// iWARP the kernel does it, and `disconnect` does it for librdmacm's own queue pairs.
  /// Wraps: ibv_modify_qp(3).
  void flush(on_failure policy = throwing{}) {
    detail::check_owns_pair<connection, Owner>();
    pair_.flush(policy);
  }

  /// Moves the queue pair to ERR, and calls `consume` with each completion until both queues are
  /// empty. Returns the number of completions. Call it after `disconnect`. During the call no
  /// requests may be posted, and no other thread may poll the completion queues. Each queue yields
  /// its successful completions before the flushed ones. Completion queues that other queue pairs
  /// share also yield their completions. A shared receive queue yields only received messages.
  /// Fails with ETIMEDOUT if the device does not flush every request in time.
  /// Wraps: ibv_modify_qp(3), ibv_poll_cq(3).
  template <class Consume>
  std::size_t drain(Consume&& consume, timeout limit = detail::seconds{10},
                    on_failure policy = throwing{}) {
    queue_drain draining = start_drain(policy);
    if (policy.failed()) return 0;
    draining.wait(consume, limit, policy);
    return draining.count();
  }
  /// Starts `drain` without blocking. `finish` of the returned object takes the available
  /// completions. The connection must outlive that object. Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_drain start_drain(on_failure policy = throwing{}) {
    static_assert(Transport == transport::rc || Transport == transport::uc,
                  "only RC and UC connections can be drained");
    ibv_qp* const pair = pair_.pair(session_.id).native_handle();
    if (!detail::check_present(policy, "connection::drain", pair)) return {};
    return queue_drain{pair, policy};
  }

  /// Returns the program's queue pair, in RESET, and destroys the identifier. RESET discards posted
  /// requests. Ends the connection if it is still established. Empties this object on success.
  /// Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    detail::check_owns_pair<connection, Owner>();
    auto fresh = pair_.take(policy);
    if (!policy.failed()) *this = {};
    return fresh;
  }

  /// Destroys the queue pair and the identifier, and reports errors.
  void close(on_failure policy = throwing{}) {
    pair_.close(policy);
    if (!policy.failed()) session_.id.close(policy);
  }

 private:
  template <transport, step, pair_owner>
  friend class connector;
  template <transport, step, pair_owner>
  friend class connection_request;

  connection(detail::cm_session&& session, const cm::private_data& data,
             const peer_parameters& parameters, detail::connection_pair<Transport, Owner>&& pair,
             bool over = false) noexcept
      : session_{std::move(session)},
        pair_{std::move(pair)},
        private_data_{data},
        parameters_{parameters},
        has_ended_{over} {}

  detail::cm_session session_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
  cm::private_data private_data_;
  peer_parameters parameters_;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm
