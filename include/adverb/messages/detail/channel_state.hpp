// SPDX-License-Identifier: MIT
// The state of a channel: its connection, its frames in progress, and what waits for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/async/loop_memory.hpp>
#include <adverb/async/message.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/message_operations.hpp>
#include <adverb/messages/detail/message_session.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Drives the session of a channel over its connection. Counted by those that refer to it: the
/// handle, messages, operations, frames in progress, and the wait for the next frame.
///
/// Not thread safe: used by the thread of its loop.
class channel_state {
 public:
  /// Takes over an established connection, whose peer has sent its handshake.
  channel_state(async::connection connection, const messages::channel_options& options,
                const handshake& mine, const handshake& of_peer, bool is_connecting,
                on_failure policy);
  channel_state(const channel_state&) = delete;
  channel_state& operator=(const channel_state&) = delete;

  void add_reference() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete this;
  }
  /// Waits for frames.
  void begin();
  /// The handle of the program has gone.
  void detach() noexcept;
  /// Ends the connection.
  void cancel() noexcept {
    if (connection_) connection_.cancel();
  }

  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }
  [[nodiscard]] message_session& session() noexcept { return session_; }
  [[nodiscard]] const async::connection& connection() const noexcept { return connection_; }
  [[nodiscard]] async::waiter_list& receivers() noexcept { return receivers_; }
  [[nodiscard]] async::waiter_list& closers() noexcept { return closers_; }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Returns true if the next message is there, or none will come: the peer has closed the channel
  /// and each side has confirmed that, or it has ended otherwise.
  [[nodiscard]] bool has_next() const noexcept { return first_ != nullptr || has_ended_; }
  /// Returns the next message; null at the orderly end. Reports why none will come otherwise.
  [[nodiscard]] arrived_message* take_next(on_failure policy);
  /// The program gives a message back. An offer that it has not taken is refused.
  void give_back(arrived_message& which) noexcept;
  /// Starts the end. Returns true if the peer has confirmed it already, or cannot.
  [[nodiscard]] bool start_close();
  /// Reports why the channel has ended, unless both sides have closed it.
  void report(const char* verb, on_failure policy) const;
  void report_close(on_failure policy) const;
  /// Reports that a wait has taken too long.
  static void report_late(const char* verb, on_failure policy);
  [[nodiscard]] std::string_view why_stalled() const noexcept;

 private:
  friend class message_dispatch;
  friend class message_receipt;

  class frame_wait : public message_operation<frame_wait> {
   public:
    frame_wait(reliable_link& link, channel_state& of) noexcept
        : message_operation{link}, owner_{&of} {}
    void finished() { owner_->take_frames(); }

   private:
    channel_state* owner_;
  };
  /// A frame in progress, and its memory.
  struct frame_slot {
    channel_state* owner = nullptr;
    mutable_buffer memory{};
    std::byte* bytes = nullptr;
    message_dispatch* waiting = nullptr;
    frame_slot* next_free = nullptr;
    bool is_posted = false;
  };
  /// Has the loop do what a handler that throws leaves undone.
  class rest_unless_done {
   public:
    explicit rest_unless_done(channel_state& of) noexcept : owner_{&of} {}
    rest_unless_done(const rest_unless_done&) = delete;
    rest_unless_done& operator=(const rest_unless_done&) = delete;
    ~rest_unless_done() {
      if (owner_ != nullptr) [[unlikely]]
        owner_->loop_->set_timer(owner_->rest_timer_, deadline::now());
    }
    void is_done() noexcept { owner_ = nullptr; }

   private:
    channel_state* owner_;
  };
  struct channel_timer : timer {
    channel_timer(channel_state& of, function* expired) noexcept : timer{expired}, owner{&of} {}
    channel_state* owner;
  };

  /// The refusal of a message because the channel has ended.
  static constexpr int refused_by_end = -1;
  /// The slots that messages leave to other frames.
  static constexpr std::uint32_t reserved_slots = 2;

  ~channel_state() = default;

  // Frames of the peer.

  void take_frames();
  void receive(async::message&& got);
  void deliver(arrived_message& which);
  void complete_receipt(arrived_message* which, bool is_written);
  void end(const failure& why);
  /// Ends the channel and its connection.
  void fail(const failure& why);
  void violate(session_violation which);

  // Frames of this side.

  /// Sends what is due, and what waits.
  void advance();
  [[nodiscard]] bool perform(session_action action);
  [[nodiscard]] bool may_post() const noexcept { return !has_ended_ && link_->is_open(); }
  [[nodiscard]] bool has_room() const noexcept { return free_count_ > reserved_slots; }
  [[nodiscard]] bool may_dispatch(const message_dispatch& which) const noexcept;
  void dispatch(message_dispatch& which);
  void write_offer(message_dispatch& which, const message_frame& taken);
  [[nodiscard]] frame_slot& take_slot(const message_frame& header) noexcept;
  /// Copies parts behind the bytes that are filled. Returns the size of both.
  [[nodiscard]] static std::uint32_t copy_parts(const frame_slot& slot, std::size_t filled,
                                                const message_parts& parts) noexcept;
  template <class... Requests>
  void post(frame_slot& slot, const Requests&... requests);
  static void frame_sent(async::operation& which, const completion& each);
  void finish(message_dispatch& which, int refusal = 0);
  void finish_close();

  static void take_rest(timer& which);
  static void tick(timer& which);
  static void close_expired(timer& which);

  async::device_loop* loop_;
  std::uint32_t references_ = 1;
  /// Empty when the handle of the program has gone.
  async::connection connection_;
  /// Valid until the channel has ended.
  reliable_link* link_;
  message_session session_;
  std::optional<frame_wait> frame_wait_;
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
  channel_timer tick_timer_{*this, &tick};
  channel_timer close_timer_{*this, &close_expired};
  channel_timer rest_timer_{*this, &take_rest};
  std::int64_t tick_interval_ = 0;
  timeout close_timeout_;
  failure why_;
  bool is_closing_ = false;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/channel_state.ipp>
#endif
