// SPDX-License-Identifier: MIT
// Connections: an identifier with its queue pair, both ready.
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
#include <adverb/cm/step.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An established connection: made by `connector` on the one side, and by `connection_request` on
/// the other, or by `cm::connect` and `listener::accept` in one line. It owns its queue pair, and
/// the completion queues if these were made with it; with `pair_owner::program` the queue pair is
/// the one that `use_queue_pair` took, which `take_queue_pair` gives back.
///
/// To end well, either side stops posting, waits until what it posted is done, and then:
///
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// and the other one does the same once its peer has disconnected:
///
///     connection.wait_disconnected(timeout::endless());  // or an event: see next_event
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// What had arrived is among the completions that `drain` hands out. Only `disconnect` moves this
/// side's queue pair to ERR, and answers the peer, which waits for that.
///
/// Nothing here has to block: watch `file_descriptor()` for `next_event`, end with
/// `start_disconnect` and empty the queues with `start_drain`. One loop serves thousands on one
/// channel: `migrate` moves the events there, and `note` takes each from it.
///
/// Events are taken by one thread at a time: `next_event`, `note`, `wait`, `wait_disconnected`,
/// `disconnect`.
template <transport Transport, pair_owner Owner>
class [[nodiscard]] connection {
 public:
  /// Empty.
  connection() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }

  /// Ready to send; after a disconnect posting still flushes.
  [[nodiscard]] queue_pair_ref<Transport> queue_pair() const noexcept {
    return pair_.pair(session_.id).template as<qp_state::rts>();
  }
  /// The context of the pair; that of a pair of the program's may be another one of the device than
  /// librdmacm's.
  [[nodiscard]] context_ref context() const noexcept { return queue_pair().context(); }
  /// The domain of the queue pair: memory that it uses is registered there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return queue_pair().protection_domain();
  }
  [[nodiscard]] completion_queue_ref send_cq() const noexcept { return queue_pair().send_cq(); }
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept { return queue_pair().recv_cq(); }
  [[nodiscard]] socket_address local_address() const noexcept {
    return session_.id.local_address();
  }
  [[nodiscard]] socket_address peer_address() const noexcept { return session_.id.peer_address(); }

  /// What the peer's program sent along when the connection was made.
  [[nodiscard]] const cm::private_data& private_data() const noexcept { return private_data_; }
  /// What the peer said of its side.
  [[nodiscard]] const peer_parameters& parameters() const noexcept { return parameters_; }

  /// For what is not here.
  [[nodiscard]] identifier_ref identifier() const noexcept { return session_.id; }

  /// Readable when an event is there, for instance that the peer has disconnected. To be watched
  /// beside the descriptors of the completion channels. That of the channel, where it is shared;
  /// -1 when the connection is empty.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.file_descriptor(); }
  /// The next event, or nothing when there is none: `disconnected`, when either side has ended the
  /// connection; `timewait_exit`, some time after that; `device_removal`, after which all that was
  /// made on the device has to be destroyed, and nothing else can be done with it;
  /// `address_change`, when the local address moved to another device, after which the connection
  /// may not work any more. Does not block. Refuses (EINVAL) when the channel is shared.
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) {
    std::optional<event> next = session_.next_event("rdma_get_cm_event", policy);
    if (next) note(*next);
    return next;
  }
  /// Takes note of an event of this connection that came on a shared channel, for `has_ended`. One
  /// of another identifier changes nothing.
  void note(const event& happened) noexcept {
    if (happened.identifier() == session_.id && (happened.type() == event_type::disconnected ||
                                                 happened.type() == event_type::device_removal))
      has_ended_ = true;
  }
  /// Whether an event that was taken said that the connection has ended, or its device is gone.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// Moves the events to a channel that others share, also those that nobody has taken yet: one
  /// loop serves many, and hands each event to the `note` of the connection whose `identifier()` it
  /// names. Calls that wait for events are refused then (EINVAL). No event of the connection may be
  /// held meanwhile. Wraps: rdma_migrate_id(3).
  void migrate(event_channel_ref channel, on_failure policy = throwing{}) {
    session_.migrate(channel, policy);
  }

  /// Waits, asleep, for completions on a queue of the connection, and for its end: on InfiniBand
  /// and RoCE a peer that leaves completes nothing, so that who waits on the queue alone waits for
  /// ever.
  ///
  ///     while (true) {
  ///       const auto found = connection.wait(connection.recv_cq(), batch);
  ///       if (found.empty()) break;
  ///       for (const completion& each : found) …
  ///     }
  ///
  /// Returns none when the connection has ended (`has_ended`) and nothing is left of what came
  /// before; when the time is up, and when a signal handler ran or the descriptor of the time limit
  /// woke it. iWARP flushes what is posted before the event says so: these completions are returned
  /// as any other. The queue needs a channel of its own, as those have that librdmacm makes. Takes
  /// events.
  [[nodiscard]] std::span<completion> wait(completion_queue_ref queue, std::span<completion> out,
                                           timeout limit = timeout::endless(),
                                           on_failure policy = throwing{}) {
    if (!session_.can_wait("connection::wait", policy)) return {};
    const detail::deadline until{limit};
    while (true) {
      // Without waiting, but what comes next gives an event.
      const auto found = queue.wait(out, detail::seconds{0}, policy);
      if (!found.empty() || has_ended_ || policy.failed() ||
          until.wait_either_readable(queue.channel().file_descriptor(), file_descriptor()) !=
              detail::wait_end::readable)
        return found;
      static_cast<void>(next_event(policy));
      if (policy.failed()) return {};
    }
  }

  /// Ends the connection: what is posted is flushed, and the peer gets an event. Waits until it has
  /// answered; when it does not (ETIMEDOUT, or EHOSTUNREACH when the kernel gives up before), a
  /// signal handler ran meanwhile (EINTR), or the descriptor of the time limit woke it (ECANCELED),
  /// the connection has ended on this side nevertheless. When the peer has ended it already, this
  /// is the answer that it waits for. Another call does no harm. Wraps: rdma_disconnect(3),
  /// ibv_modify_qp(3).
  void disconnect(timeout limit = detail::seconds{10}, on_failure policy = throwing{}) {
    if (!session_.can_wait("rdma_disconnect", policy)) return;
    start_disconnect(policy);
    if (!policy.failed()) wait_disconnected(limit, policy);
  }
  /// The same without blocking: an event says when the peer has answered (`disconnected`).
  /// Wraps: rdma_disconnect(3), ibv_modify_qp(3).
  void start_disconnect(on_failure policy = throwing{}) {
    pair_.flush(policy);
    if (!policy.failed()) session_.id.disconnect(policy);
  }
  /// Waits until the peer has ended the connection, or this side has. Fails when the device was
  /// removed (ENODEV), and when the time is up (ETIMEDOUT), a signal handler ran (EINTR) or the
  /// descriptor of the time limit woke it (ECANCELED): then it can be called again. It is
  /// `disconnect` that answers the peer.
  void wait_disconnected(timeout limit, on_failure policy = throwing{}) {
    constexpr std::string_view verb = "connection::disconnect";
    policy.clear();
    if (has_ended_) return;
    const auto ended_by = [&](const event& happened) {
      note(happened);
      const bool well = happened.type() == event_type::disconnected && happened.status() == 0;
      if (!well && happened.type() != event_type::address_change &&
          happened.type() != event_type::timewait_exit)
        session_.report_event(happened, verb, policy);
      return well;
    };
    static_cast<void>(session_.wait(limit, verb, policy,
                                    [&] { return session_.take_events(verb, policy, ended_by); }));
  }
  /// Puts a pair of the program's into ERR, as librdmacm does not do with one that it does not
  /// know: after the peer has disconnected, so that what is posted is flushed. On iWARP the kernel
  /// does it, and with its own pairs `disconnect` does. Wraps: ibv_modify_qp(3).
  void flush(on_failure policy = throwing{}) {
    check_owns_pair();
    pair_.flush(policy);
  }

  /// Moves the queue pair to ERR, unless it is there, and hands out the completion of everything
  /// that was posted, until both queues are empty: `consume` is called with each. In each queue
  /// those that succeeded come first, then the flushed ones. Returns how
  /// many there were. After `disconnect`; nothing may be posted, and nobody else may poll the
  /// queues meanwhile. Of completion queues that other pairs share, it hands out theirs too. Of a
  /// shared receive queue only what was received is handed out. Fails (ETIMEDOUT) when the device
  /// did not flush everything in time. Wraps: ibv_modify_qp(3), ibv_poll_cq(3).
  template <class Consume>
  std::size_t drain(Consume&& consume, timeout limit = detail::seconds{10},
                    on_failure policy = throwing{}) {
    queue_drain draining = start_drain(policy);
    if (policy.failed()) return 0;
    draining.wait(consume, limit, policy);
    return draining.count();
  }
  /// The same without blocking: `finish` of what it returns takes what is there. Outlived by the
  /// connection. Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_drain start_drain(on_failure policy = throwing{}) {
    static_assert(Transport == transport::rc || Transport == transport::uc,
                  "a pair of this transport has no connection that ends: nothing is to be drained");
    ibv_qp* const pair = pair_.pair(session_.id).native_handle();
    if (!detail::check_present(policy, "connection::drain", pair)) return {};
    return queue_drain{pair, policy};
  }

  /// Gives the program's pair back, in RESET: everything posted is forgotten. The identifier is
  /// destroyed, and the connection, if there still is one, ends. Empty afterwards, unless it fails.
  /// Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    check_owns_pair();
    auto fresh = pair_.take(policy);
    if (!policy.failed()) *this = {};
    return fresh;
  }

  /// Destroys the queue pair and the identifier now, and reports an error.
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

  static constexpr void check_owns_pair() noexcept {
    static_assert(Owner == pair_owner::program,
                  "librdmacm made the queue pair: this is for one that use_queue_pair() took");
  }

  detail::cm_session session_;
  [[no_unique_address]] detail::connection_pair<Transport, Owner> pair_;
  cm::private_data private_data_;
  peer_parameters parameters_;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm
