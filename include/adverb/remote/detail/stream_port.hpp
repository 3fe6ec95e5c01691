// SPDX-License-Identifier: MIT
// The stream of a connection: its memory, and what the messages of the connection mean for it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/message_taker.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/remote/detail/stream_offer.hpp>
#include <adverb/remote/detail/stream_state.hpp>
#include <adverb/remote/stream_options.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Takes the messages of a connection for its stream. The link owns it.
class stream_port final : public link_attachment {
 public:
  stream_port(reliable_link& link, const stream_options& options, on_failure policy);

  /// Returns the port of a link that has a stream.
  [[nodiscard]] static stream_port& of(const reliable_link& link) noexcept {
    return static_cast<stream_port&>(*link.attachment());
  }

  /// Returns the offer for the peer.
  [[nodiscard]] stream_offer offer() const;
  /// The connection is established.
  void connected(const stream_offer& of_peer, bool has_accepted) noexcept;

  [[nodiscard]] reliable_link& link() const noexcept { return *link_; }
  [[nodiscard]] timeout end_timeout() const noexcept { return end_timeout_; }
  [[nodiscard]] const stream_state& state() const noexcept { return state_; }
  /// Returns the steps that wait for bytes of the peer, and those that wait to write, in order.
  [[nodiscard]] async::waiter_list& readers() noexcept { return readers_; }
  [[nodiscard]] async::waiter_list& writers() noexcept { return writers_; }
  /// Returns true if nothing more will arrive or leave.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Returns true if the peer has broken the protocol.
  [[nodiscard]] bool is_violated() const noexcept { return static_cast<bool>(why_); }
  /// Reports why it has ended.
  void report(const char* verb, on_failure policy) const;

  /// Ends the connection if its deadline has passed.
  void begin() noexcept {
    if (!link_->is_ready()) [[unlikely]]
      link_->make_ready();
  }
  /// Copies bytes of the peer. Returns their number.
  [[nodiscard]] std::size_t read(std::span<std::byte> into) noexcept;
  /// Posts as many of the bytes as there is room for. Returns their number.
  [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) noexcept;
  void shut_down() noexcept {
    state_.shut_down();
    flush();
  }
  void disconnect() noexcept {
    state_.disconnect();
    flush();
  }
  /// Posts what is due.
  void flush() noexcept;
  /// Has completions resume the steps that wait to write, and post what is due.
  void wait_for_completions() noexcept {
    if (needs_completions() && !completion_wait_.is_waiting())
      link_->wait_for_room(completion_wait_);
  }

  // For the taker of messages.
  void take_message(receive_block& block) noexcept;
  void messages_ended() noexcept;

  ADVERB_FUNC void cancel_waits() noexcept override;

 private:
  /// Waits for completions.
  struct completion_wait : room_waiter {
    explicit completion_wait(stream_port& of) noexcept : room_waiter{&resume}, owner{&of} {}
    static bool resume(async::waiter& which);
    stream_port* owner;
  };

  [[nodiscard]] bool needs_completions() noexcept {
    return link_->is_open() && state_.is_any_in_progress() &&
           (!writers_.empty() || state_.owes_notice());
  }
  /// Notes the requests that have completed.
  void note_completions() noexcept {
    if (link_->is_open()) state_.completed(link_->sends().size() - link_->sends().available());
  }
  /// Posts a write and its message.
  template <class... Payload>
  void post_write(const stream_target& to, std::uint32_t message, bool is_signaled,
                  const Payload&... payload) noexcept;
  void post(const stream_notice& due) noexcept;
  void check(const send_window_result& posted) noexcept;
  [[nodiscard]] std::span<std::byte, stream_target::encoded_size> entry() const noexcept;
  void violate(stream_violation which) noexcept;
  void end() noexcept;
  void resume(async::waiter_list& waiters) noexcept;

  /// The offset of the receive buffer, behind the list in which the peer names its buffers.
  static constexpr std::size_t receive_offset = 64;

  reliable_link* link_;
  bool is_iwarp_;
  timeout end_timeout_;
  std::uint32_t receive_buffer_;
  std::uint16_t receives_;
  stream_state state_;
  /// The memory to which the peer writes.
  async::loop_memory shared_;
  async::loop_memory send_buffer_;
  const_buffer sent_;
  stream_target peer_list_;
  std::endian peer_order_ = std::endian::native;
  bool has_ended_ = false;
  failure why_;
  async::waiter_list readers_;
  async::waiter_list writers_;
  completion_wait completion_wait_{*this};
  message_taker<stream_port> taker_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/stream_port.ipp>
#endif
