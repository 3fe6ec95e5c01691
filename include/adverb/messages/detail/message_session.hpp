// SPDX-License-Identifier: MIT
// The state machine of a channel, without I/O.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/messages/detail/message_credits.hpp>
#include <adverb/messages/detail/message_frame.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The limits that the two ends of a channel have agreed on.
struct session_limits {
  /// The receives that each side grants, at least `message_credits::least_receives`.
  std::uint32_t receives = 32;
  std::uint32_t receives_of_peer = 32;
  /// The receives that the peer grants at the start; 0: all.
  std::uint32_t granted_by_peer = 0;
  /// The size of the longest frame that this side sends, at most that of the peer's receives.
  std::uint32_t block_size_of_peer = 4096;
  /// The size of the longest message in bytes.
  std::uint32_t longest = std::uint32_t{1} << 26;
  /// Over iWARP, the connecting side must be the first to send.
  bool sends_first = false;
  bool waits_for_peer = false;
  /// The peer answers probes only while its program waits.
  bool peer_may_be_silent = false;
  /// The link finds the end of the machine of a silent peer: no frame has to.
  bool link_probes = false;
  /// A broken link is replaced by another one.
  bool resumes = false;
  /// The receives that this side grants; null if they are those of this side alone.
  receive_share* share = nullptr;
};

/// The state of one end when a link broke, for the other end.
struct session_point {
  /// The number of the next message that it expects.
  std::uint32_t next = 0;
  /// The number of frames that it has received which end offers: `taken`, and `refused` with
  /// `message_frame::withdrawn`.
  std::uint32_t ends = 0;
  /// The number of receives that it grants on the next link.
  std::uint32_t granted = 0;
  /// It has received `close`.
  bool has_close = false;
};

/// The rule that a frame of the peer violates.
enum class session_violation : std::uint8_t {
  none,
  unknown_type,
  wrong_size,
  too_long,
  wrong_sequence,
  wrong_grant,
  too_many_offers,
  unknown_offer,
  after_close,
};

/// Returns the rule as a sentence.
[[nodiscard]] std::string_view describe(session_violation violated) noexcept;

/// The meaning of a frame that has arrived.
enum class session_arrival : std::uint8_t {
  /// The owner has nothing to do.
  none,
  message,
  /// The peer offers a message: `message_session::incoming`.
  offer,
  /// The peer takes an offer of this side: `message_session::outgoing`. The action `write` follows.
  take,
  /// The peer refuses an offer of this side: `message_session::outgoing`, which is over.
  refused,
  /// The peer has written its offer: `message_session::incoming`, which is over.
  taken,
  /// The peer withdraws its offer: `message_session::incoming`, which is over for the owner.
  withdrawn,
  /// The peer sends no more messages.
  close,
  /// The peer has ended the channel because a frame of this side violates the protocol.
  failed,
  violation,
};

/// The next action of the owner.
enum class session_action : std::uint8_t {
  nothing,
  send_credit,
  send_confirmation,
  send_probe,
  send_close,
  /// Answer an offer: `message_session::incoming`.
  send_take,
  send_refused,
  /// Write an offer that the peer has taken, and send the frame behind it:
  /// `message_session::outgoing`.
  write,
  send_withdrawn,
  /// Send an offer again that is not answered: `message_session::outgoing`.
  send_offer_again,
  /// Both sides have closed, and each has confirmed the messages of the other.
  finish,
  /// The peer has confirmed more messages: `message_session::take_confirmed`.
  release_confirmed,
  /// The peer has confirmed that an offer is over: `message_session::outgoing`, and then
  /// `message_session::complete`.
  complete_offer,
  /// Send the next message again that the peer has not received: `message_session::send_again`.
  send_again,
};

/// An offer of this side that the peer has not answered, or that is not written yet.
struct outgoing_offer {
  /// `ended`: the peer has answered it, it is written or withdrawn, and the peer has not confirmed
  /// that. Only if a broken link is replaced.
  enum class phase : std::uint8_t {
    unused,
    must_offer_again,
    offered,
    must_write,
    must_withdraw,
    withdrawn,
    ended
  };
  phase at = phase::unused;
  /// The peer has answered it.
  bool is_answered = false;
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;
  /// The owner's; null if it has gone.
  void* owner = nullptr;
  /// The number of the frame that has ended it, from 0.
  std::uint32_t end_number = 0;
};

/// An offer of the peer that is not answered, or not written yet.
struct incoming_offer {
  enum class phase : std::uint8_t { unused, offered, must_take, must_refuse, taken };
  phase at = phase::unused;
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;
  /// The owner's.
  void* owner = nullptr;
  /// The number of the link on which the peer has offered it, at last.
  std::uint32_t link = 0;
  /// The peer has withdrawn it.
  bool is_withdrawn = false;
};

/// The number of messages that need a confirmation, modulo 2^32.
class requested_messages {
 public:
  /// Requests the confirmation of so many messages.
  void request(std::uint32_t messages) noexcept { number_ = messages; }
  /// So many messages are confirmed. Without this call, a request counts as open again when 2^31
  /// messages have followed it.
  void note_confirmed(std::uint32_t messages) noexcept {
    if (!is_beyond(messages)) number_ = messages;
  }
  /// Returns true if more than `confirmed` messages need a confirmation.
  [[nodiscard]] bool is_beyond(std::uint32_t confirmed) const noexcept {
    return static_cast<std::int32_t>(number_ - confirmed) > 0;
  }

 private:
  std::uint32_t number_ = 0;
};

/// The state machine of one end of a channel: frames of the peer and wishes of the program in,
/// frames out. It has no I/O and no clock, and allocates nothing after its construction. After each
/// fact, its owner calls `next` until there is nothing to do, or no room for it.
class message_session {
 public:
  /// The most offers of one side at a time.
  static constexpr std::uint32_t most_offers = 16;
  /// The ticks without a frame of the peer after which it is probed, and taken for dead.
  static constexpr std::uint32_t ticks_to_probe = 2;
  static constexpr std::uint32_t ticks_to_death = 4;
  /// The size of the remote handle that follows `take`.
  static constexpr std::size_t take_size = 24;

  explicit message_session(const session_limits& agreed);

  /// Returns the number of frames for which a session counts the messages before them: those that
  /// the peer may have room for, but at most 1,024, whatever the peer grants.
  [[nodiscard]] static constexpr std::size_t counted_frames(
      std::uint32_t receives_of_peer) noexcept {
    constexpr std::uint32_t most = 1'023;
    return std::bit_ceil(std::size_t{receives_of_peer < most ? receives_of_peer : most} + 1);
  }

  // Questions.

  [[nodiscard]] const session_limits& limits() const noexcept { return limits_; }
  /// Returns the size of the longest message that is sent in one frame, with a tag or without.
  [[nodiscard]] std::uint32_t longest_eager(std::uint8_t flags = 0) const noexcept {
    return limits_.block_size_of_peer -
           static_cast<std::uint32_t>(message_frame{.flags = flags}.front_size());
  }
  [[nodiscard]] bool may_send_message() const noexcept {
    return blocked_ == 0 && credits_.may_send_message();
  }
  /// Returns true if the peer may send a message, as soon as it has every grant.
  [[nodiscard]] bool grants_a_message() const noexcept {
    return credits_.granted_now() > message_credits::reserve;
  }
  [[nodiscard]] bool may_offer() const noexcept {
    return may_send_message() && offers_out_ < most_offers;
  }
  [[nodiscard]] bool is_closing() const noexcept { return is_closing_; }
  [[nodiscard]] bool is_closed_by_peer() const noexcept { return is_closed_by_peer_; }
  /// Returns true if both sides have closed, and each has confirmed the messages of the other.
  [[nodiscard]] bool is_finished() const noexcept {
    return is_close_sent_ && is_closed_by_peer_ && unconfirmed() == 0 && !must_confirm_close_;
  }
  /// Returns true if the session had finished before the last action with a frame, so that the peer
  /// can finish without it.
  [[nodiscard]] bool had_finished() const noexcept { return had_finished_; }
  /// Returns the number of messages that were sent and that the peer may not have received.
  [[nodiscard]] std::uint32_t unconfirmed() const noexcept {
    return next_out_ - confirmed_ + replays_;
  }
  /// Returns the rule that the peer has violated.
  [[nodiscard]] session_violation violation() const noexcept { return violation_; }

  // Sending.

  /// Numbers the frame of the next message. `may_send_message` must be true.
  [[nodiscard]] message_frame send_message(message_frame made) noexcept {
    made.sequence = next_out_++;
    stamp(made);
    return made;
  }
  /// Numbers the frame that offers the next message. `may_offer` must be true.
  [[nodiscard]] message_frame send_offer(message_frame made, void* owner) noexcept;
  /// The owner gives up an offer for which `write` is not done.
  void withdraw(const void* owner) noexcept;
  /// The owner has gone, without a frame for the peer.
  void forget(const void* owner) noexcept {
    for (outgoing_offer& each : offers_)
      if (each.owner == owner) each.owner = nullptr;
  }
  /// Calls `function` with the owner of each offer that is not over.
  template <class Function>
  void for_each_outgoing(const Function& function) {
    for (outgoing_offer& each : offers_)
      if (each.at != outgoing_offer::phase::unused) function(std::exchange(each.owner, nullptr));
  }
  /// The program sends no more messages.
  void close() noexcept { is_closing_ = must_confirm_ = true; }

  /// Returns true if the peer has room for the frame `failed`, and over iWARP may be sent one.
  [[nodiscard]] bool may_send_failed() const noexcept {
    return (blocked_ & until_heard) == 0 && credits_.may_send_control();
  }
  /// Returns the last frame, with the rule that the peer has violated.
  [[nodiscard]] message_frame send_failed(session_violation which) noexcept {
    message_frame made{.type = message_frame_type::failed,
                       .length = static_cast<std::uint32_t>(which)};
    stamp(made);
    return made;
  }

  // Receiving.

  /// Takes a frame of the peer, of which `size` bytes have arrived.
  [[nodiscard]] session_arrival receive(const message_frame& received, std::size_t size) noexcept;
  /// The receive of a frame is posted again: at once, or when the program gives the message back.
  void receive_posted(const message_frame& of) noexcept { credits_.receive_posted(of); }
  /// Returns the offer of the last arrival or action.
  [[nodiscard]] outgoing_offer& outgoing() noexcept { return *outgoing_; }
  [[nodiscard]] incoming_offer& incoming() noexcept { return *incoming_; }
  /// Returns the owner of the offer that the frame `taken` completes; null if there is none.
  [[nodiscard]] void* owner_of_taken(const message_frame& taken) noexcept {
    return is_taken(taken) ? incoming_->owner : nullptr;
  }
  /// The program takes an offer, with its memory prepared.
  void take(incoming_offer& which) noexcept { answer(which, incoming_offer::phase::must_take); }
  /// The program refuses an offer.
  void refuse(incoming_offer& which) noexcept { answer(which, incoming_offer::phase::must_refuse); }
  /// The program refuses every offer that it has not answered. Calls `function` with each owner.
  template <class Function>
  void refuse_all(const Function& function) noexcept {
    for (incoming_offer& each : offers_of_peer_)
      if (each.at == incoming_offer::phase::offered) {
        refuse(each);
        function(each.owner);
      }
  }

  // A broken link, if `session_limits::resumes`.

  /// The link is broken, and no frame of it will arrive. Returns the state for the peer. May be
  /// called again: the next link may not come about.
  [[gnu::cold]] [[nodiscard]] session_point break_link() noexcept;
  /// Another link replaces it: frames go on behind those that the peer has received. Returns the
  /// rule that the state of the peer violates.
  [[gnu::cold]] [[nodiscard]] session_violation resume(const session_point& of_peer) noexcept;
  /// Returns the number of messages that the peer has confirmed, for `release_confirmed`.
  [[nodiscard]] std::uint32_t take_confirmed() noexcept {
    requested_.note_confirmed(confirmed_);
    return released_ = confirmed_;
  }
  /// Requests the confirmation of every message that is sent.
  void request_confirmation() noexcept { requested_.request(next_out_); }
  /// The owner has finished the offer of `complete_offer`.
  void complete() noexcept { release(*outgoing_); }
  /// Returns the number of the message for `send_again`.
  [[nodiscard]] std::uint32_t next_again() const noexcept { return next_out_; }
  /// Numbers the frame of the message for `send_again` anew: only its counts change.
  [[nodiscard]] message_frame send_again(message_frame kept) noexcept {
    if (--replays_ == 0) blocked_ &= static_cast<std::uint8_t>(~until_replayed);
    kept.sequence = next_out_++;
    stamp(kept);
    return kept;
  }
  /// The peer has forgotten the session. Returns true if it had closed it, and has confirmed every
  /// message of this side, so both have received everything.
  [[gnu::cold]] [[nodiscard]] bool finish_alone() noexcept;
  /// The peer has ended the session in order, after both have received everything. Returns false if
  /// that is impossible.
  [[gnu::cold]] [[nodiscard]] bool finish_after_peer() noexcept;

  // Time.

  /// A quarter of the time has passed after which a silent peer is dead. Returns false if it is.
  [[nodiscard]] bool tick() noexcept;

  // Actions.

  /// Returns true if `next` has nothing to do, as far as that is fast to see.
  [[nodiscard]] bool is_idle() const noexcept {
    return (due_ | std::uint32_t{must_greet_} | std::uint32_t{must_confirm_} |
            std::uint32_t{must_probe_} | std::uint32_t{must_confirm_close_} |
            std::uint32_t{is_closing_} | std::uint32_t{is_closed_by_peer_}) == 0 &&
           !credits_.owes_credit() && !credits_.owes_confirmation();
  }
  /// Returns the next action.
  [[nodiscard]] session_action next() noexcept;
  /// Returns the frame of the action that `next` has returned. The action is done with it.
  [[nodiscard]] message_frame perform(session_action action) noexcept;

 private:
  /// The bits of `blocked_`: over iWARP, nothing is sent before the peer has sent a frame; and new
  /// messages follow those that are sent again.
  static constexpr std::uint8_t until_heard = 1;
  static constexpr std::uint8_t until_replayed = 2;
  /// A part of `due_`, so that a session that resumes or shares its receives is never idle: each
  /// turn looks at what the peer has confirmed, or at the share, and other sessions never do.
  static constexpr std::uint32_t always_due = std::uint32_t{1} << 31U;

  /// Puts the counts into a frame that is sent.
  void stamp(message_frame& sent) noexcept {
    if (!sent.is_credit()) messages_before(credits_.sent() + 1) = next_out_;
    credits_.send(sent);
  }
  /// Returns the place for the number of messages in the first frames that spend credits.
  [[nodiscard]] std::uint32_t& messages_before(std::uint32_t frames) noexcept {
    return messages_before_[frames & (messages_before_.size() - 1)];
  }
  /// Returns the number of credits that go back with the next frame.
  [[gnu::cold]] [[nodiscard]] std::uint8_t return_credits() noexcept;
  void release(outgoing_offer& which) noexcept {
    which.at = outgoing_offer::phase::unused;
    --offers_out_;
  }
  void release(incoming_offer& which) noexcept {
    which.at = incoming_offer::phase::unused;
    --offers_in_;
  }
  void answer(incoming_offer& which, incoming_offer::phase with) noexcept {
    which.at = with;
    ++due_;
  }
  [[nodiscard]] bool must_close() const noexcept {
    return (is_closing_ || is_closed_by_peer_) && !is_close_sent_ && offers_out_ == 0 &&
           replays_ == 0;
  }
  /// Returns true if the message of an offer is still to be sent again.
  [[nodiscard]] bool is_to_come(const outgoing_offer& which) const noexcept {
    return which.sequence - next_out_ < replays_;
  }
  /// Returns true if the peer has confirmed the frame that has ended an offer.
  [[nodiscard]] bool is_end_confirmed(const outgoing_offer& which) const noexcept {
    return static_cast<std::int32_t>(which.end_number - ends_confirmed_) < 0;
  }
  /// The frame that ends an offer is sent.
  [[gnu::cold]] void note_end(outgoing_offer& which, outgoing_offer::phase next) noexcept;
  /// The peer has ended one of its offers.
  void note_end_of_peer() noexcept { ends_received_ += limits_.resumes ? 1 : 0; }
  /// An offer that is withdrawn is answered.
  [[gnu::cold]] void settle(outgoing_offer& which) noexcept;
  [[gnu::cold]] [[nodiscard]] session_action next_of_resumption() noexcept;
  /// Returns true if the peer has to confirm messages or ends of offers.
  [[nodiscard]] bool needs_confirmation() const noexcept {
    return replays_ == 0 && (requested_.is_beyond(confirmed_) || ends_sent_ != ends_confirmed_);
  }
  [[gnu::cold]] void reconcile(outgoing_offer& which, const session_point& of_peer) noexcept;
  /// Returns the rule that an offer with the number of a message that has arrived violates.
  [[gnu::cold]] [[nodiscard]] session_violation check_offer_again(
      const message_frame& received) noexcept;
  [[gnu::cold]] [[nodiscard]] session_arrival receive_offer_again(
      const message_frame& received) noexcept;
  /// Returns the rule that a frame violates, and finds its offer.
  [[nodiscard]] session_violation check(const message_frame& received, std::size_t size) noexcept;
  [[nodiscard]] bool find_outgoing(const message_frame& received) noexcept;
  [[nodiscard]] bool find_incoming(const message_frame& received) noexcept;
  /// Returns true if a frame `taken` completes an offer, and finds it.
  [[nodiscard]] bool is_taken(const message_frame& received) noexcept {
    return find_incoming(received) && incoming_->at == incoming_offer::phase::taken &&
           incoming_->length == received.length;
  }
  [[nodiscard]] session_arrival violate(session_violation which) noexcept {
    violation_ = which;
    return session_arrival::violation;
  }
  /// The peer has received so many messages. Returns false if so many were never sent.
  [[nodiscard]] bool confirm(std::uint32_t messages) noexcept {
    if (messages - confirmed_ > next_out_ - confirmed_) return false;
    confirmed_ = messages;
    return true;
  }
  /// The same for the frames that end offers.
  [[nodiscard]] bool confirm_ends(std::uint32_t ends) noexcept {
    if (ends - ends_confirmed_ > ends_sent_ - ends_confirmed_) return false;
    ends_confirmed_ = ends;
    return true;
  }
  [[nodiscard]] session_arrival receive_offer(const message_frame& received) noexcept;
  [[nodiscard]] session_arrival receive_take() noexcept;
  [[nodiscard]] session_arrival receive_refused() noexcept;
  [[nodiscard]] session_arrival receive_withdrawn() noexcept;

  session_limits limits_;
  message_credits credits_;
  std::uint32_t next_out_ = 0;
  std::uint32_t confirmed_ = 0;
  std::uint32_t next_in_ = 0;
  /// Number of offers that wait for an action.
  std::uint32_t due_ = 0;
  std::uint32_t offers_out_ = 0;
  std::uint32_t offers_in_ = 0;
  std::uint32_t silent_ticks_ = 0;
  /// The frames that had been sent at the last tick.
  std::uint32_t sent_at_tick_ = 0;
  session_violation violation_ = session_violation::none;
  std::uint8_t blocked_;
  /// A credit frame is due: the first one over iWARP, or one that returns credits.
  bool must_greet_;
  /// The peer's credit frame is confirmed also while messages may do it.
  bool must_confirm_ = false;
  bool must_probe_ = false;
  /// The next credit frame returns the credits that the peer has lent.
  bool must_return_ = false;
  bool must_confirm_close_ = false;
  bool is_closing_ = false;
  bool is_close_sent_ = false;
  bool is_closed_by_peer_ = false;
  bool has_heard_ = false;
  bool had_finished_ = false;
  outgoing_offer* outgoing_ = nullptr;
  incoming_offer* incoming_ = nullptr;
  std::array<outgoing_offer, most_offers> offers_{};
  std::array<incoming_offer, most_offers> offers_of_peer_{};
  /// The number of messages up to each of the last frames with a credit.
  std::vector<std::uint32_t> messages_before_;
  /// The number of links before this one.
  std::uint32_t link_ = 0;
  /// The number of messages, from `next_out_` on, that are to be sent again.
  std::uint32_t replays_ = 0;
  /// The messages that the owner has taken as confirmed, and those that it needs confirmed.
  std::uint32_t released_ = 0;
  requested_messages requested_;
  std::uint32_t ends_sent_ = 0;
  std::uint32_t ends_confirmed_ = 0;
  std::uint32_t ends_received_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/message_session.ipp>
#endif
