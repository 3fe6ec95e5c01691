// SPDX-License-Identifier: MIT
// The life of an asynchronous connection, without I/O.
#pragma once

#include <cstdint>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The phases in the life of a link.
enum class link_phase : std::uint8_t {
  /// The queue pair is not connected yet.
  connecting,
  open,
  /// The queue pair must be moved to ERR.
  closing,
  /// The queue pair is in ERR. Its requests are flushed.
  draining,
  /// The queue pair has been destroyed.
  released,
};

/// The end of a link towards its peer.
enum class link_end : std::uint8_t {
  /// It was never connected.
  not_needed,
  pending,
  /// The peer has ended the connection or confirmed its end. Without a peer that confirms it: the
  /// requests are flushed.
  confirmed,
  timed_out,
};

/// The next action of the owner of a link.
enum class link_action : std::uint8_t {
  nothing,
  /// Move the queue pair to ERR, and call `entered_error`.
  enter_error,
  /// Destroy the queue pair if that has not been done, and the link.
  destroy,
};

/// The work of a link that its owner counts.
struct link_load {
  /// A request or a receive of the link's own is in progress.
  bool is_posted = false;
  /// An operation waits.
  bool is_awaited = false;
  /// The program holds a message.
  bool is_held = false;
};

/// The state machine of a link: facts in, one action out. It has no clock, no I/O and no counters.
class link_life {
 public:
  [[nodiscard]] link_phase phase() const noexcept { return phase_; }
  [[nodiscard]] link_end end() const noexcept { return end_; }
  [[nodiscard]] bool is_orphan() const noexcept { return is_orphan_; }

  // Facts.

  /// The connection is established. A request that failed before does not change the phase, so that
  /// the connection that follows is disconnected.
  void connected() noexcept {
    end_ = link_end::pending;
    if (phase_ == link_phase::connecting) phase_ = link_phase::open;
  }
  /// A failure, the program or a deadline ends the connection.
  void close() noexcept {
    if (phase_ < link_phase::closing) phase_ = link_phase::closing;
  }
  /// The handle of the program has gone.
  void drop_handle() noexcept {
    is_orphan_ = true;
    close();
  }
  /// The peer has ended the connection or confirmed its end.
  void peer_ended() noexcept {
    confirm();
    close();
  }
  /// The peer has not answered the request to end the connection.
  void peer_was_silent() noexcept {
    give_up_peer();
    close();
  }
  /// The queue pair is in ERR, and what had arrived in its completion queue has been passed on.
  void entered_error() noexcept {
    if (phase_ == link_phase::closing) phase_ = link_phase::draining;
  }
  /// Nothing is posted, and no peer confirms the end.
  void flushed() noexcept {
    if (phase_ >= link_phase::draining) confirm();
  }
  /// The queue pair is destroyed: the link can be, the device flushes nothing more, or the time for
  /// the end has passed. Or the kernel has destroyed it with its device.
  void released() noexcept {
    give_up_peer();
    phase_ = link_phase::released;
  }

  // Questions.

  [[nodiscard]] link_action next(const link_load& load) const noexcept {
    if (phase_ == link_phase::closing) return link_action::enter_error;
    if (phase_ < link_phase::draining || !is_orphan_ || load.is_held) return link_action::nothing;
    if (end_ == link_end::not_needed) return link_action::destroy;
    const bool is_idle = !load.is_posted && !load.is_awaited && end_ != link_end::pending;
    return is_idle ? link_action::destroy : link_action::nothing;
  }
  [[nodiscard]] bool may_post() const noexcept { return phase_ == link_phase::open; }
  /// Returns true if a deadline of the program counts, which it does while something waits.
  [[nodiscard]] bool has_deadline() const noexcept { return phase_ < link_phase::closing; }
  /// Returns true while the time for the end counts.
  [[nodiscard]] bool is_ending() const noexcept {
    return phase_ == link_phase::closing || phase_ == link_phase::draining;
  }
  /// Returns true if no message will arrive, and it is known why. Receives from a shared queue do
  /// not count as posted. iWARP flushes the receives before the peer's end is known.
  [[nodiscard]] bool has_no_more_messages(bool is_receive_posted, bool has_cause) const noexcept {
    return phase_ >= link_phase::draining && !is_receive_posted &&
           (has_cause || end_ != link_end::pending);
  }
  /// Returns true if a wait for the end is over.
  [[nodiscard]] bool has_ended() const noexcept {
    return phase_ >= link_phase::closing && end_ != link_end::pending;
  }
  /// Returns true if the stream of messages is whole: the peer has ended it, and nothing else has.
  [[nodiscard]] bool is_orderly(bool has_cause) const noexcept {
    return end_ == link_end::confirmed && !has_cause;
  }

 private:
  void confirm() noexcept {
    if (end_ == link_end::pending) end_ = link_end::confirmed;
  }
  void give_up_peer() noexcept {
    if (end_ == link_end::pending) end_ = link_end::timed_out;
  }

  link_phase phase_ = link_phase::connecting;
  link_end end_ = link_end::not_needed;
  bool is_orphan_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail
