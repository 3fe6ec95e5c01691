// SPDX-License-Identifier: MIT
// Frames over links of which one replaces the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <adverb/async/accept.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/cm/reject_reason.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/message_operations.hpp>
#include <adverb/messages/detail/resumption_life.hpp>
#include <adverb/messages/detail/session_table.hpp>
#include <adverb/messages/detail/tcp_greeting.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A request of a peer over RDMA or TCP, and its handshake; none if it is no channel. The
/// destructor rejects it.
struct link_request {
  std::optional<handshake> of_peer;
  async::connection_request over_rdma;
  std::unique_ptr<tcp_greeting> over_tcp;

  [[nodiscard]] explicit operator bool() const noexcept { return over_rdma || over_tcp != nullptr; }
  /// Rejects it with this answer.
  void reject(const handshake& answer);
};

/// A link that is being connected or accepted.
class link_attempt {
 public:
  link_attempt() noexcept = default;
  link_attempt(const link_attempt&) = delete;
  link_attempt& operator=(const link_attempt&) = delete;
  virtual ~link_attempt() = default;

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] virtual bool start() = 0;
  /// Returns the carrier of the link, or reports the failure.
  [[nodiscard]] virtual greeted_carrier take(on_failure policy) = 0;
  /// Returns the rejection of the peer, if there is one.
  [[nodiscard]] virtual const cm::rejection* rejection() const noexcept { return nullptr; }
};

/// The agreement of two ends that resume.
struct resumption_terms {
  messages::channel_options options;
  handshake mine;
  handshake of_peer;
  /// The address of the listener, at the connecting end.
  cm::socket_address address;
  /// The sessions of the listener, at its end; null at the connecting end.
  session_table* table = nullptr;
};

/// Carries the frames of a channel over one link after the other. It keeps each message until the
/// peer has confirmed it. When a link breaks, it ends it, connects the next one or waits for the
/// request of the peer, and sends again what the peer has not received.
class resumable_carrier final : public frame_carrier {
 public:
  /// Takes over the first link.
  resumable_carrier(std::unique_ptr<frame_carrier> first, const resumption_terms& agreed);
  ~resumable_carrier() override { leave_table(); }

  [[nodiscard]] messages::network network() const noexcept override { return current_->network(); }
  [[nodiscard]] async::device_loop& loop() const noexcept override { return *loop_; }
  [[nodiscard]] cm::socket_address peer_address() const noexcept override {
    return current_->peer_address();
  }
  [[nodiscard]] bool is_iwarp() const noexcept override { return current_->is_iwarp(); }
  [[nodiscard]] async::loop_memory memory(std::size_t size, access_rights rights,
                                          on_failure policy) override {
    return current_->memory(size, rights, policy);
  }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept override {
    return current_->protection_domain();
  }
  [[nodiscard]] receive_share take_share() noexcept override { return current_->take_share(); }
  ADVERB_FUNC void start(channel_state& of) override;
  [[nodiscard]] bool is_open() const noexcept override {
    return life_.phase() == resumption_phase::connected && current_->is_open();
  }
  [[nodiscard]] bool is_audible() const noexcept override { return current_->is_audible(); }
  ADVERB_FUNC void send(frame_slot& slot, std::span<const const_buffer> frame) override;
  ADVERB_FUNC void write(frame_slot& slot, const landing_handle& target,
                         std::span<const const_buffer> message, const_buffer frame) override;
  [[nodiscard]] landing_handle open(std::span<std::byte> memory, memory_region& region,
                                    on_failure policy) override {
    return current_->open(memory, region, policy);
  }
  void close(int error_number) override {
    retire();
    current_->close(error_number);
  }
  ADVERB_FUNC void cancel() override;
  ADVERB_FUNC void detach() noexcept override;

  // For the channel.

  /// Returns true if a broken link can be replaced.
  [[nodiscard]] bool may_resume() const noexcept {
    return !life_.is_over() && (is_connecting_ || terms_.table != nullptr);
  }
  /// Returns true while the link is broken, and may be replaced.
  [[nodiscard]] bool is_broken() const noexcept { return life_.is_broken(); }
  /// The link has ended. Returns true if the channel goes on.
  [[nodiscard]] bool outlasts(const failure& why);
  /// The link is of no more use. Returns true if the channel goes on.
  [[nodiscard]] bool replace_link(const failure& why);
  /// Returns the cause of the end of the channel, whose last link has ended for this one.
  [[nodiscard]] const failure& cause_of_end(const failure& of_link) const noexcept {
    return final_ ? *final_ : of_link;
  }
  /// The program ends the channel, whatever becomes of its last link.
  void note_cancelled() noexcept;
  /// No other link follows.
  void retire() noexcept;
  /// A frame is not in progress any more.
  void frame_sent(bool succeeded) noexcept;
  /// Returns true if no frame is in progress.
  [[nodiscard]] bool is_idle() const noexcept { return posted_ == 0; }
  /// The peer has confirmed so many messages.
  void release_confirmed(std::uint32_t messages);
  /// Sends the message of the session's `send_again`.
  void send_again();
  /// Has the loop do what is due.
  void turn_soon() noexcept {
    if (!turn_.is_waiting()) loop_->resume_later(turn_);
  }
  /// The program has given back a message.
  [[gnu::cold]] void message_returned() noexcept {
    if (!old_.empty()) turn_soon();
  }

  // For the listener.

  /// The peer requests the next link.
  void take_request(link_request&& requested);
  /// The listener has gone.
  void table_ended() noexcept;

  // For tests.

  /// Returns the carrier of the last link.
  [[nodiscard]] frame_carrier& current() const noexcept { return *current_; }

 private:
  friend class end_of_loop<resumable_carrier>;
  template <class Step>
  friend class running_step;

  /// A message that the peer has not confirmed.
  struct kept_frame {
    frame_slot* slot = nullptr;
    std::array<const_buffer, 1 + message_parts::most_parts> parts{};
    std::size_t count = 0;
  };
  struct turn_waiter : async::waiter {
    explicit turn_waiter(resumable_carrier& of) noexcept : waiter{&take_turn}, owner{&of} {}
    resumable_carrier* owner;
  };
  using carrier_timer = owned_timer<resumable_carrier>;

  void give_back(void*) noexcept override {}

  static bool take_turn(async::waiter& which);
  void loop_ended();

  void keep(frame_slot& slot, std::span<const const_buffer> frame);
  [[nodiscard]] kept_frame& kept_at(std::size_t place) noexcept {
    return kept_[(first_kept_ + place) % kept_.size()];
  }
  void note_posted(const frame_slot& slot) noexcept;

  /// The link is broken, for the first reason that is known.
  void note_broken(const failure& why) noexcept;
  /// Performs the actions of the life.
  void advance();
  /// Calls a function that begins or ends an attempt. Without memory, the attempt has failed.
  template <class Function>
  void attempt(const Function& function);
  void connect();
  void answer();
  void start_attempt(std::unique_ptr<link_attempt> made);
  void attempt_finished() noexcept {
    is_attempt_done_ = true;
    turn_soon();
  }
  void finish_attempt();
  /// The next link replaces the last one. The caller starts it.
  void begin(greeted_carrier made);
  void start_link();
  void forget_old_links() noexcept;
  /// The peer does not go on with the session.
  void end_refused(const std::optional<handshake>& answer);
  /// The peer has ended the session in order.
  void end_finished();
  void time_is_over();
  /// Ends the channel.
  void give_up(const failure& why) noexcept;
  void leave_table() noexcept;
  [[nodiscard]] messages::channel_options attempt_options() const noexcept;

  async::device_loop* loop_;
  channel_state* owner_ = nullptr;
  resumption_terms terms_;
  bool is_connecting_;
  resumption_life life_;
  std::unique_ptr<frame_carrier> current_;
  /// The links before, while the program holds messages in their memory.
  std::vector<std::unique_ptr<frame_carrier>> old_;
  std::vector<kept_frame> kept_;
  std::size_t first_kept_ = 0;
  std::size_t kept_count_ = 0;
  /// The number of the first kept message.
  std::uint32_t first_sequence_ = 0;
  /// The frames in progress, and those of them at the end that the peer can finish without.
  std::uint32_t posted_ = 0;
  std::uint32_t dispensable_ = 0;
  /// The last link has not ended.
  bool has_link_ = false;
  /// The peer may not have received a frame of the link that it needs.
  bool has_lost_frames_ = false;
  bool is_attempt_done_ = false;
  /// The last link has not been started.
  bool is_link_new_ = false;
  /// The channel has learned its end.
  bool has_ended_ = false;
  std::unique_ptr<link_attempt> attempt_;
  link_request request_;
  failure why_;
  std::optional<failure> final_;
  turn_waiter turn_{*this};
  carrier_timer retry_timer_{*this, [](timer& which) {
                               resumable_carrier& self = carrier_timer::owner_of(which);
                               self.life_.retry();
                               self.turn_soon();
                             }};
  carrier_timer time_timer_{*this, [](timer& which) {
                              resumable_carrier& self = carrier_timer::owner_of(which);
                              self.time_is_over();
                            }};
  end_of_loop<resumable_carrier> end_{*this};
};

inline void session_table::end() noexcept {
  has_ended_ = true;
  const auto all = std::move(channels_);
  for (const auto& [session, each] : all) each->table_ended();
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/resumable_carrier.ipp>
#endif
