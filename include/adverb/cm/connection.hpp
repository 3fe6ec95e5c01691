// SPDX-License-Identifier: MIT
// Connections: an identifier with its queue pair, both ready.
#pragma once

#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/drain.hpp>
#include <adverb/cm/detail/session.hpp>
#include <adverb/cm/private_data.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A connection that is established: made by `connector` on the one side, and by
/// `connection_request` on the other, or by `cm::connect` and `listener::accept` in one line. It
/// owns its queue pair, and the completion queues if these were made with it.
///
/// To end well, either side stops posting, waits until what it posted is done, and then:
///
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// and the other one does the same once it hears of it:
///
///     connection.wait_disconnected(timeout::endless());  // or an event: see next_event
///     connection.disconnect();
///     connection.drain([&](const completion& each) { … });
///
/// What had arrived is among the completions that `drain` hands out. Only `disconnect` moves this
/// side's queue pair to ERR, and answers the peer, which waits for that.
///
/// Events are taken by one thread at a time: `next_event`, `wait`, `wait_disconnected`,
/// `disconnect`.
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

  /// Readable when an event is there, for instance that the peer has disconnected. To be watched
  /// beside the descriptors of the completion channels.
  [[nodiscard]] int file_descriptor() const noexcept { return session_.channel.file_descriptor(); }
  /// The next event, or nothing when there is none: `disconnected`, when either side has ended the
  /// connection; `timewait_exit`, some time after that; `device_removal`, after which all that was
  /// made on the device has to be destroyed, and nothing else can be done with it;
  /// `address_change`, when the local address moved to another device, after which the connection
  /// may not work any more.
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) {
    std::optional<event> next = session_.channel.next_event(policy);
    if (next) note_end(*next);
    return next;
  }
  /// Whether an event that was taken has told that the connection has ended, or its device is gone.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// Waits, asleep, for completions on a queue of the connection, and for its end: on InfiniBand
  /// and RoCE a peer that leaves completes nothing, so that who waits on the queue alone waits for
  /// ever.
  ///
  ///     while (true) {
  ///       const auto found = connection.wait(connection.receive_completion_queue(), batch);
  ///       if (found.empty()) break;
  ///       for (const completion& each : found) …
  ///     }
  ///
  /// Returns none when the connection has ended (`has_ended`) and nothing is left of what came
  /// before; when the time is up, and when a signal handler ran. iWARP flushes what is posted
  /// before it tells of the end: these completions are returned as any other. The queue needs a
  /// channel of its own, as those have that librdmacm makes. Takes events.
  [[nodiscard]] std::span<completion> wait(completion_queue_ref queue, std::span<completion> out,
                                           timeout limit = timeout::endless(),
                                           on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "connection::wait", session_.id.native_handle())) return {};
    const detail::deadline until{limit};
    while (true) {
      // Without waiting, but what comes next gives an event.
      const auto found = queue.wait(out, timeout::seconds(0), policy);
      if (!found.empty() || has_ended_ || policy.failed() ||
          !until.wait_either_readable(queue.channel().file_descriptor(), file_descriptor()))
        return found;
      static_cast<void>(next_event(policy));
      if (policy.failed()) return {};
    }
  }

  /// Ends the connection: what is posted is flushed, and the peer is told. Waits until it has
  /// answered; when it does not (ETIMEDOUT, or EHOSTUNREACH when the kernel gives up before) or a
  /// signal handler ran meanwhile (EINTR), the connection has ended on this side nevertheless. When
  /// the peer has ended it already, this is the answer that it waits for. Another call does no
  /// harm. Wraps: rdma_disconnect(3).
  void disconnect(timeout limit = timeout::seconds(10), on_failure policy = throwing{}) {
    session_.id.disconnect(policy);
    if (policy.failed()) return;
    wait_disconnected(limit, policy);
  }
  /// Waits until the peer has ended the connection, or this side has. Fails when the device was
  /// removed (ENODEV), and when the time is up (ETIMEDOUT) or a signal handler ran (EINTR): then it
  /// can be called again. It is `disconnect` that answers the peer.
  void wait_disconnected(timeout limit, on_failure policy = throwing{}) {
    if (has_ended_) {
      policy.clear();
      return;
    }
    const auto event =
        session_.wait_for({event_type::disconnected}, limit, "connection::disconnect", policy,
                          [this](const cm::event& other) { note_end(other); });
    if (event) note_end(*event);
  }

  /// Moves the queue pair to ERR, unless it is there, and hands out the completion of everything
  /// that was posted, until both queues are empty: `consume` is called with each. In each queue
  /// those that succeeded come first, then the flushed ones. Returns how
  /// many there were. After `disconnect`; nothing may be posted, and nobody else may poll the
  /// queues meanwhile. Of completion queues that other pairs share, it hands out theirs too. Of a
  /// shared receive queue only what was received is handed out. Fails (ETIMEDOUT) when the device
  /// did not flush everything in time. Wraps: ibv_modify_qp(3), ibv_poll_cq(3).
  template <class Consume>
  std::size_t drain(Consume&& consume, timeout limit = timeout::seconds(10),
                    on_failure policy = throwing{}) {
    return drain_pair(session_.id ? session_.id.native_handle()->qp : nullptr, consume, limit,
                      policy);
  }

  /// Gives up the connection as an identifier, whose events come on a channel that it may share
  /// with others: one loop serves many. Those that came already come there; a connection that
  /// `has_ended` is refused (ENOTCONN), because the loop would wait for that in vain. Empty
  /// afterwards, unless it fails. No event of the connection may be kept meanwhile. Wraps:
  /// rdma_migrate_id(3).
  [[nodiscard]] identifier migrate(event_channel_ref channel, on_failure policy = throwing{}) {
    if (has_ended_) {
      report_ended(policy);
      return {};
    }
    session_.id.migrate(channel, policy);
    if (policy.failed()) return {};
    return std::move(session_.id);
  }

  /// Destroys the queue pair and the identifier now, and reports an error.
  void close(on_failure policy = throwing{}) { session_.id.close(policy); }

 private:
  template <transport, step>
  friend class connector;
  template <transport, step>
  friend class connection_request;
  template <transport>
  friend class connection_of_own_pair;

  connection(detail::cm_session&& session, const cm::private_data& data,
             const connection_parameters& parameters, bool over = false) noexcept
      : session_{std::move(session)},
        private_data_{data},
        parameters_{parameters},
        has_ended_{over} {}

  template <class Consume>
  static std::size_t drain_pair(ibv_qp* pair, Consume& consume, timeout limit, on_failure policy) {
    static_assert(Transport == transport::rc || Transport == transport::uc,
                  "a pair of this transport has no connection that ends: nothing is to be drained");
    if constexpr (detail::takes_each<Consume, completion>()) {
      if (!detail::check_present(policy, "connection::drain", pair)) return 0;
      detail::queue_drain left{pair};
      static_cast<void>(left.run(consume, limit, policy));
      return left.count();
    }
    return 0;
  }

  void report_ended(on_failure policy) const {
    policy.report(ENOTCONN, "rdma_migrate_id", [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(session_.id.native_handle())(description);
      description.explain("the connection has ended, which would not be told again");
    });
  }

  void note_end(const event& happened) noexcept {
    if (happened.type() == event_type::disconnected ||
        happened.type() == event_type::device_removal)
      has_ended_ = true;
  }

  detail::cm_session session_;
  cm::private_data private_data_;
  connection_parameters parameters_;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm
