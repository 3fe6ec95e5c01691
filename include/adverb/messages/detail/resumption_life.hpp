// SPDX-License-Identifier: MIT
// The life of a channel that connects broken links again, without I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The phases in the life of a channel that resumes.
enum class resumption_phase : std::uint8_t {
  /// The link carries frames.
  connected,
  /// The link is broken, and must be ended.
  broken,
  /// The link is ending: the device may use the memory of its frames.
  ending,
  /// There is no link.
  waiting,
  /// The next link is being connected, or a request for it accepted.
  connecting,
  /// No other link follows.
  over,
};

/// The next action of the owner.
enum class resumption_action : std::uint8_t {
  nothing,
  /// End the link, and call `link_ended` when no frame of it is in progress.
  end_link,
  /// Call `retry` after `interval`.
  wait,
  /// Connect to the peer.
  connect,
  /// Answer the request of the peer.
  answer,
  /// Drop the link that is being connected, because the peer has sent another request.
  drop_attempt,
};

/// The state machine of a channel that resumes: facts in, one action out. It has no clock and no
/// I/O. After each fact, its owner performs `next` until that is `nothing`.
class resumption_life {
 public:
  /// The intervals between attempts to connect, in milliseconds.
  static constexpr std::uint32_t first_interval = 10;
  static constexpr std::uint32_t last_interval = 1'000;

  /// One end connects, and the other one waits for its requests.
  explicit resumption_life(bool is_connecting) noexcept : is_connecting_{is_connecting} {}

  [[nodiscard]] resumption_phase phase() const noexcept { return phase_; }
  [[nodiscard]] bool is_over() const noexcept { return phase_ == resumption_phase::over; }
  /// Returns true while a link is broken, and may be replaced.
  [[nodiscard]] bool is_broken() const noexcept {
    return phase_ != resumption_phase::connected && !is_over();
  }

  // Facts.

  /// A link that has not ended is broken.
  void link_broken() noexcept {
    if (phase_ == resumption_phase::connected) phase_ = resumption_phase::broken;
  }
  /// No frame of the link is in progress, and none arrives any more.
  void link_ended() noexcept {
    if (phase_ <= resumption_phase::ending) become_waiting();
  }
  /// The interval of `wait` has passed.
  void retry() noexcept { is_due_ = phase_ == resumption_phase::waiting && is_waiting_for_retry_; }
  /// The peer requests the next link, at the end that does not connect. It has given up the last
  /// one, even if this end has not noticed.
  void request_arrived() noexcept {
    if (is_connecting_ || is_over()) return;
    has_request_ = true;
    link_broken();
  }
  /// The next link has not come about.
  void attempt_failed() noexcept {
    if (phase_ == resumption_phase::connecting) become_waiting();
  }
  /// The next link carries frames.
  void attempt_succeeded() noexcept {
    if (phase_ != resumption_phase::connecting) return;
    phase_ = resumption_phase::connected;
    interval_ = first_interval;
  }
  /// The time is over, the session is unknown at the peer, or a side ends the channel.
  void end() noexcept {
    phase_ = resumption_phase::over;
    has_request_ = false;
  }

  // Actions.

  /// Returns the next action, which is done with that.
  [[nodiscard]] resumption_action next() noexcept {
    if (phase_ == resumption_phase::broken) {
      phase_ = resumption_phase::ending;
      return resumption_action::end_link;
    }
    if (phase_ == resumption_phase::connecting && has_request_) {
      become_waiting();
      return resumption_action::drop_attempt;
    }
    if (phase_ != resumption_phase::waiting) return resumption_action::nothing;
    if (std::exchange(has_request_, false)) {
      phase_ = resumption_phase::connecting;
      return resumption_action::answer;
    }
    if (!is_connecting_) return resumption_action::nothing;
    if (std::exchange(is_due_, false)) {
      is_waiting_for_retry_ = false;
      phase_ = resumption_phase::connecting;
      return resumption_action::connect;
    }
    return std::exchange(is_waiting_for_retry_, true) ? resumption_action::nothing
                                                      : resumption_action::wait;
  }
  /// Returns the time until the next attempt in milliseconds, and doubles it for the one after.
  [[nodiscard]] std::uint32_t take_interval() noexcept {
    return std::exchange(interval_, std::min(2 * interval_, last_interval));
  }

 private:
  void become_waiting() noexcept {
    phase_ = resumption_phase::waiting;
    is_waiting_for_retry_ = is_due_ = false;
  }

  resumption_phase phase_ = resumption_phase::connected;
  bool is_connecting_;
  bool has_request_ = false;
  bool is_waiting_for_retry_ = false;
  bool is_due_ = false;
  std::uint32_t interval_ = first_interval;
};

}  // namespace adverb::inline ADVERB_ABI::detail
