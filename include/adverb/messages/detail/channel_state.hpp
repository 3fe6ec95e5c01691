// SPDX-License-Identifier: MIT
// The state of a channel: its session, its frames in progress, and what waits for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/async/detail/timer_queue.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/channel_statistics.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/message_operations.hpp>
#include <adverb/messages/detail/message_session.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class resumable_carrier;

/// Drives the session of a channel over its carrier. Counted by those that refer to it: the handle,
/// messages, operations, frames in progress, and the carrier until it has ended.
///
/// Not thread safe: used by the thread of its loop.
class channel_state {
 public:
  /// Takes over a carrier, whose peer has sent its handshake. `resumption` is the carrier if it
  /// replaces broken links, and null otherwise.
  channel_state(std::unique_ptr<frame_carrier> carrier, resumable_carrier* resumption,
                const messages::channel_options& options, const handshake& mine,
                const handshake& of_peer, bool is_connecting, on_failure policy);
  channel_state(const channel_state&) = delete;
  channel_state& operator=(const channel_state&) = delete;

  void add_reference() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete this;
  }
  /// Has the carrier start.
  void begin();
  /// The handle of the program has gone.
  void detach() noexcept;
  /// Ends the channel for the program.
  void cancel() noexcept;
  /// Ends the connection, because the device uses memory of the program.
  void let_go() noexcept { carrier_->cancel(); }

  // For the carrier.

  /// Takes a frame of the peer.
  void receive(frame_block&& got);
  /// Returns the memory for the message behind `taken`; none if the peer may not send it.
  [[nodiscard]] std::span<std::byte> landing_of(const message_frame& taken) noexcept;
  /// A frame has been sent, or will not be.
  void sent(frame_slot& slot, bool succeeded);
  /// The peer has violated the protocol.
  void violate(session_violation which);
  /// No frame arrives any more, and none is in progress.
  void ended(const failure& why);

  // For a carrier that replaces broken links.

  /// Does what is due.
  void take_turn() { advance(); }
  /// Another link carries the frames. Prepares the memory of messages that the peer writes again.
  void resumed(on_failure policy);
  /// The peer has confirmed the message of a slot, which is not in progress.
  void release_slot(frame_slot& slot);
  /// Returns true if a message that has arrived is in the memory of this carrier.
  [[nodiscard]] bool holds_block_of(const frame_carrier& which) const noexcept;
  [[nodiscard]] static failure violation_of(const char* by, session_violation which);

  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }
  [[nodiscard]] message_session& session() noexcept { return session_; }
  [[nodiscard]] frame_carrier& carrier() const noexcept { return *carrier_; }
  [[nodiscard]] async::waiter_list& receivers() noexcept { return receivers_; }
  [[nodiscard]] async::waiter_list& closers() noexcept { return closers_; }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Returns true while nothing can be sent, and another link may follow: also before the carrier
  /// has learned that its link is broken.
  [[gnu::cold]] [[nodiscard]] bool is_broken() const noexcept;
  /// Returns true if the next message is there, or none will come: the peer has closed the channel
  /// and each side has confirmed that, or it has ended otherwise.
  [[nodiscard]] bool has_next() const noexcept { return first_ != nullptr || has_ended_; }
  /// Returns the next message; null at the orderly end. Reports why none will come otherwise.
  [[nodiscard]] arrived_message* take_next(on_failure policy);
  /// The program gives a message back. An offer that it has not taken is refused.
  void give_back(arrived_message& which) noexcept;
  /// Sends a message of copied parts. Returns false if it would have to wait, or cannot be sent.
  [[nodiscard]] bool try_send(const message_parts& parts);
  /// Starts the end. Returns true if the peer has confirmed it already, or cannot.
  [[nodiscard]] bool start_close();
  /// Reports why the channel has ended, unless both sides have closed it.
  void report(const char* verb, on_failure policy) const;
  void report_close(on_failure policy) const;
  /// Reports that a wait has taken too long.
  static void report_late(const char* verb, on_failure policy);
  [[nodiscard]] std::string_view why_stalled() const noexcept;
  [[nodiscard]] const messages::channel_statistics& statistics() const noexcept {
    return statistics_;
  }

 private:
  friend class message_dispatch;
  friend class message_receipt;

  using channel_timer = owned_timer<channel_state>;
  struct loan_waiter : async::waiter {
    explicit loan_waiter(channel_state& of) noexcept : waiter{&lent}, owner{&of} {}
    channel_state* owner;
  };

  /// The refusal of a message because the channel has ended.
  static constexpr int refused_by_end = -1;
  /// The slots that messages leave to other frames.
  static constexpr std::uint32_t reserved_slots = 2;

  /// Each frame in progress has a reference, so no device uses the memory of frames any more.
  ~channel_state() { memory_.free(); }

  // Frames of the peer.

  void count_received(const message_frame& header) noexcept;
  void deliver(arrived_message& which);
  void complete_receipt(arrived_message* which, bool is_written);
  /// Resumes a waiter. The loop throws the exception of its handler later, so nothing is left
  /// undone here.
  void resume(async::waiter& which) noexcept {
    loop().call_and_keep_exception([&] { which.go_on(); });
  }
  void resume_all(async::waiter_list& waiters) noexcept {
    while (!waiters.empty()) resume(waiters.front());
  }
  void end(const failure& why);
  /// Ends the channel and its connection.
  void fail(const failure& why);
  /// The peer has ended the channel for a reason.
  void end_as_told(std::uint32_t reason);

  // Frames of this side.

  /// The caller of `advance`.
  enum class caller : std::uint8_t { loop, program };
  /// Sends what is due, and what waits. The loop resumes the messages that have waited; a call of
  /// the program, such as the destruction of a message, has the loop resume them later.
  void advance(caller by = caller::loop);
  [[nodiscard]] bool perform(session_action action, caller by);
  [[gnu::cold]] [[nodiscard]] bool perform_without_slot(session_action action, caller by);
  [[nodiscard]] bool may_post() const noexcept { return !has_ended_ && carrier_->is_open(); }
  [[nodiscard]] bool has_room() const noexcept { return free_count_ > reserved_slots; }
  [[nodiscard]] bool may_dispatch(const message_dispatch& which) const noexcept;
  void dispatch(message_dispatch& which);
  void note_stall(message_dispatch& which) noexcept;
  void note_end_of_stall(const message_dispatch& which) noexcept;
  void write_offer(message_dispatch& which, const message_frame& taken);
  [[nodiscard]] frame_slot& take_slot(const message_frame& header) noexcept;
  /// Copies parts behind the bytes that are filled. Returns the size of both.
  [[nodiscard]] static std::uint32_t copy_parts(const frame_slot& slot, std::size_t filled,
                                                const message_parts& parts) noexcept;
  /// Sends the frame of a slot, of this size.
  void post(frame_slot& slot, std::uint32_t size);
  void post(frame_slot& slot, std::span<const const_buffer> frame);
  /// Keeps the channel for a frame that its carrier has taken, or frees its slot.
  void posted(frame_slot& slot) noexcept;
  void finish(message_dispatch& which, int refusal = 0);
  void finish_close();
  /// Sends the last frame, so that the peer does not wait for another link. Returns true if the
  /// connection ends when that is sent.
  [[gnu::cold]] bool take_leave() noexcept;
  /// `sent` of a channel that resumes, or fails.
  [[gnu::cold]] void sent_by_rule(frame_slot& slot, bool succeeded);
  void free_slot(frame_slot& slot) noexcept {
    slot.next_free = std::exchange(free_, &slot);
    ++free_count_;
  }
  [[gnu::cold]] void complete_offer();
  /// Gives back the shared receives, but for those of messages that the program holds.
  [[gnu::cold]] void leave_share() noexcept;

  /// Others have given back shared receives.
  [[gnu::cold]] static bool lent(async::waiter& which);
  static void tick(timer& which);
  static void close_expired(timer& which);

  /// The effects of a frame that is sent.
  enum class sent_rule : std::uint8_t {
    /// Its slot is free.
    frees,
    /// Its slot is free if the peer has confirmed its message.
    keeps,
    /// The connection ends when the last frame is sent.
    ends,
  };

  std::uint32_t references_ = 1;
  std::unique_ptr<frame_carrier> carrier_;
  async::device_loop* loop_;
  /// The carrier, if it replaces broken links.
  resumable_carrier* resumption_;
  /// The receives that it grants; empty if they are its own.
  receive_share share_;
  message_session session_;
  async::loop_memory memory_;
  std::vector<frame_slot> slots_;
  frame_slot* free_ = nullptr;
  std::uint32_t free_count_ = 0;
  std::deque<arrived_message> arrived_;
  arrived_message* unused_ = nullptr;
  arrived_message* first_ = nullptr;
  arrived_message* last_ = nullptr;
  async::waiter_list senders_;
  async::waiter_list receivers_;
  async::waiter_list closers_;
  loan_waiter loan_waiter_{*this};
  channel_timer tick_timer_{*this, &tick};
  channel_timer close_timer_{*this, &close_expired};
  std::int64_t tick_interval_ = 0;
  timeout close_timeout_;
  failure why_;
  messages::channel_statistics statistics_;
  bool is_closing_ = false;
  bool has_ended_ = false;
  sent_rule at_sent_ = sent_rule::frees;
};

/// Keeps a channel.
class channel_reference {
 public:
  explicit channel_reference(channel_state& of) noexcept : kept_{&of} { of.add_reference(); }
  channel_reference(const channel_reference&) = delete;
  channel_reference& operator=(const channel_reference&) = delete;
  ~channel_reference() { kept_->release(); }

 private:
  channel_state* kept_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/channel_state.ipp>
#endif
