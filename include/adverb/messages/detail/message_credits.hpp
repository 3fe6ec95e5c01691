// SPDX-License-Identifier: MIT
// The credits of a channel: how many frames each side may send. Without I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <adverb/async/detail/receive_loans.hpp>
#include <adverb/messages/detail/message_frame.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Counts the frames and receives of one side, so that each frame meets a posted receive.
///
/// Each side grants the receives that it has posted: their number, of all that it has ever posted,
/// is in each frame that it sends, so the next frame repeats every grant. A frame spends a credit.
/// Messages leave a reserve, so that messages that the program does not take never hold up the
/// answers to offers and the end. Credit frames spend none, and meet two receives that are not
/// granted: one for a credit frame, of which the next follows when the peer has confirmed it, and
/// one for a confirmation, which is never confirmed. Other frames confirm as well.
///
/// A side that shares its receives with others grants `least_receives` at first, and then what it
/// is lent, up to the receives that are agreed. The other side returns what it does not use: a
/// credit frame spends the credits in its lane.
class message_credits {
 public:
  /// The credits that messages leave to the other frames.
  static constexpr std::uint32_t reserve = 2;
  /// The receives that a side posts and does not grant.
  static constexpr std::uint32_t spare_receives = 2;
  /// The least number of receives that a side can grant.
  static constexpr std::uint32_t least_receives = reserve + 2;

  /// Starts with the receives that this side has posted, and those of the peer, as agreed. The peer
  /// grants `granted_by_peer` of them at first, or all if that is 0, and this side those of a share
  /// if it has one.
  message_credits(std::uint32_t receives, std::uint32_t of_peer, std::uint32_t granted_by_peer = 0,
                  receive_share* share = nullptr) noexcept
      : at_start_{granted_by_peer != 0 ? granted_by_peer : of_peer},
        granted_{at_start_},
        of_peer_{of_peer},
        posted_{share != nullptr ? share->in_use() : receives},
        announced_{posted_},
        quarter_{std::max(receives / 4, std::uint32_t{1})},
        share_{share} {}

  // A broken link.

  /// Starts again for the next link, on which nothing can be sent yet.
  void begin_again() noexcept {
    posted_ = announced_ = granted_now();
    received_ = sent_ = granted_ = 0;
    // A loan that was refused is requested again.
    balanced_at_ = posted_ <= reserve ? ~received_ : received_;
    credit_frames_sent_ = credit_frames_confirmed_ = credit_frames_received_ = 0;
    is_unconfirmed_ = false;
  }
  /// Returns the receives that this side grants on the next link: messages that the program holds
  /// have the others.
  [[nodiscard]] std::uint32_t granted_now() const noexcept { return posted_ - received_; }
  /// The peer grants so many on the next link.
  void set_granted(std::uint32_t receives) noexcept { granted_ = receives; }
  /// Returns the receives of the peer, as agreed.
  [[nodiscard]] std::uint32_t of_peer() const noexcept { return of_peer_; }

  // Sending.

  /// Returns the number of frames that the peer has room for.
  [[nodiscard]] std::uint32_t available() const noexcept { return granted_ - sent_; }
  /// Returns true if the peer has room for a message.
  [[nodiscard]] bool may_send_message() const noexcept { return available() > reserve; }
  /// Returns true if the peer has room for another frame.
  [[nodiscard]] bool may_send_control() const noexcept { return available() > 0; }
  /// Returns true if the peer has room for a credit frame.
  [[nodiscard]] bool may_send_credit() const noexcept {
    return credit_frames_sent_ == credit_frames_confirmed_;
  }
  /// Returns the credits that a credit frame can return: those beyond the first ones.
  [[nodiscard]] std::uint32_t surplus() const noexcept {
    constexpr std::uint32_t most = 255;
    return std::min(std::max(available(), at_start_) - at_start_, most);
  }
  /// Returns true if a credit frame should be sent: the peer cannot send, or soon cannot.
  [[nodiscard]] bool owes_credit() const noexcept {
    const std::uint32_t unannounced = posted_ - announced_;
    const std::uint32_t left = announced_ - received_;
    if (unannounced == 0 || !may_send_credit()) return false;
    return left == 0 ||
           (left + unannounced > reserve && (left <= reserve || unannounced >= quarter_));
  }
  /// Returns true if no frame has confirmed the peer's last credit frame.
  [[nodiscard]] bool may_confirm() const noexcept { return is_unconfirmed_; }
  /// Returns true if it must be confirmed now: no message can do it, and the peer may have more.
  [[nodiscard]] bool owes_confirmation() const noexcept {
    return is_unconfirmed_ && !may_send_message();
  }
  /// Counts a frame that is sent, and puts the counts into it.
  void send(message_frame& sent) noexcept {
    sent.granted = announced_ = posted_;
    sent.credit_frames = credit_frames_received_;
    is_unconfirmed_ = false;
    if (!sent.is_credit()) {
      ++sent_;
      return;
    }
    if ((sent.flags & message_frame::confirms) == 0) ++credit_frames_sent_;
    sent_ += sent.lane;
  }
  /// Returns the number of frames with a credit that were sent.
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  /// Returns how many of these the peer has received, at least: it has posted their receives again.
  /// Behind a broken link it is below 0, modulo 2^32, while the peer holds messages of that link.
  [[nodiscard]] std::uint32_t known_received() const noexcept { return granted_ - of_peer_; }

  // Receiving.

  /// Counts a frame of the peer. Returns false if it exceeds what was agreed.
  [[nodiscard]] bool receive(const message_frame& received) noexcept {
    const auto confirmed =
        static_cast<std::uint8_t>(received.credit_frames - credit_frames_confirmed_);
    const auto outstanding =
        static_cast<std::uint8_t>(credit_frames_sent_ - credit_frames_confirmed_);
    if (confirmed > outstanding) return false;
    if (!received.is_credit()) {
      if (received_ == announced_) return false;
      ++received_;
    } else if ((received.flags & message_frame::confirms) != 0) {
      if (confirmed == 0) return false;
    } else {
      if (is_unconfirmed_ || received.lane > announced_ - received_) return false;
      ++credit_frames_received_;
      is_unconfirmed_ = true;
      if (received.lane != 0) take_back(received.lane);
    }
    // The peer posts a receive again for each frame that it has received.
    const std::uint32_t more = received.granted - granted_;
    if (more > of_peer_ - available()) return false;
    granted_ = received.granted;
    credit_frames_confirmed_ = received.credit_frames;
    return true;
  }
  /// Counts the receive of a frame that is posted again.
  void receive_posted(const message_frame& of) noexcept {
    if (!of.is_credit()) ++posted_;
  }
  /// Adapts the grants to the share, if there is one: each message that has arrived may have it
  /// lent one more, and a receive that is not announced may go back. A loan that is refused is
  /// requested again each time, and the share waits for it if the peer cannot send a message.
  [[gnu::cold]] void balance() noexcept {
    const bool has_received = balanced_at_ != received_;
    if (has_received && share_->take()) {
      balanced_at_ = received_;
      ++posted_;
      return;
    }
    if (posted_ != announced_ && share_->shrink()) --posted_;
    if (has_received && granted_now() <= reserve) share_->wait();
  }

 private:
  /// The peer returns credits.
  [[gnu::cold]] void take_back(std::uint32_t credits) noexcept {
    // A peer that is idle needs no loan.
    balanced_at_ = received_ += credits;
    posted_ += share_ != nullptr ? share_->take_back(credits) : credits;
  }

  /// The credits that the peer grants at the start.
  std::uint32_t at_start_;
  std::uint32_t granted_;
  std::uint32_t of_peer_;
  std::uint32_t sent_ = 0;
  std::uint32_t posted_;
  std::uint32_t announced_;
  std::uint32_t received_ = 0;
  std::uint32_t quarter_;
  /// The frames that had been received when the share was lent the last receive.
  std::uint32_t balanced_at_ = 0;
  std::uint8_t credit_frames_sent_ = 0;
  std::uint8_t credit_frames_confirmed_ = 0;
  std::uint8_t credit_frames_received_ = 0;
  /// No frame has confirmed the last credit frame of the peer.
  bool is_unconfirmed_ = false;
  /// Null if the receives are those of this side alone.
  receive_share* share_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
