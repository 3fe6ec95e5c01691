// SPDX-License-Identifier: MIT
// Frames over TCP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include <adverb/async/detail/loop_sockets.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/frame_stream.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/message_operations.hpp>
#include <adverb/messages/detail/tcp_greeting.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Carries frames over a TCP connection, on any machine. An offer that the peer takes follows its
/// frame `taken` in the stream, straight into the memory of the peer's program.
class tcp_carrier final : public frame_carrier, private watched_socket {
 public:
  /// Takes over a connected socket that does not block, after the handshake.
  tcp_carrier(async::device_loop& loop, tcp_greeting& greeted, const handshake& mine,
              std::uint32_t max_frames, on_failure policy);

  [[nodiscard]] messages::network network() const noexcept override {
    return messages::network::tcp;
  }
  [[nodiscard]] async::device_loop& loop() const noexcept override { return *loop_; }
  [[nodiscard]] cm::socket_address peer_address() const noexcept override { return peer_; }
  [[nodiscard]] bool is_iwarp() const noexcept override { return false; }
  [[nodiscard]] async::loop_memory memory(std::size_t size, access_rights /*rights*/,
                                          on_failure policy) override {
    policy.clear();
    return async::loop_memory{size};
  }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept override { return {}; }
  ADVERB_FUNC void start(channel_state& of) override;
  [[nodiscard]] bool is_open() const noexcept override { return at_ == phase::open; }
  // There is a block for every frame that the peer may send.
  [[nodiscard]] bool is_audible() const noexcept override { return true; }
  ADVERB_FUNC void send(frame_slot& slot, std::span<const const_buffer> frame) override;
  ADVERB_FUNC void write(frame_slot& slot, const landing_handle& target,
                         std::span<const const_buffer> message, const_buffer frame) override;
  [[nodiscard]] ADVERB_FUNC landing_handle open(std::span<std::byte> memory, memory_region& region,
                                                on_failure policy) override;
  ADVERB_FUNC void close(int error_number) override;
  ADVERB_FUNC void cancel() override;
  void detach() noexcept override { cancel(); }

 private:
  /// The states of the connection, in order. `ending`: the channel is not called yet.
  enum class phase : std::uint8_t { open, ending, ended };
  /// A frame that is not sent, or not all of it.
  struct outgoing {
    /// The header, the message, and what is copied.
    std::array<iovec, 2 + message_parts::most_parts> parts{};
    std::size_t count = 0;
    void add(const_buffer part) noexcept;
    frame_slot* slot = nullptr;
    outgoing* next = nullptr;
  };
  /// The block of a frame.
  struct block {
    std::byte* bytes = nullptr;
    block* next = nullptr;
  };
  struct turn_waiter : async::waiter {
    explicit turn_waiter(tcp_carrier& of) noexcept : waiter{&take_turn}, owner{&of} {}
    tcp_carrier* owner;
  };

  friend class end_of_loop<tcp_carrier>;

  ADVERB_FUNC void socket_ready() override;
  void loop_ended();
  static bool take_turn(async::waiter& which);
  ADVERB_FUNC void give_back(void* which) noexcept override;

  /// Adds a frame to those that are sent in the next turn.
  outgoing& add(frame_slot& slot) noexcept;
  void begin_to_send();
  /// Sends as much as the socket takes.
  void flush();
  /// So many bytes of the first frames are sent.
  void drop_sent(std::size_t bytes) noexcept;
  /// Passes frames that are sent, or will not be, to the channel.
  void tell_sent(outgoing*& of, bool succeeded);

  /// Reads what has arrived.
  void read();
  /// Takes a frame, or a part of one, from the bytes that have been read.
  void take_frames();
  /// Prepares a block for the next frame.
  void begin_frame() noexcept;
  void deliver();

  /// Ends the connection in the next turn, with a reason.
  void end_soon(const failure& why);
  void take_turn_soon();
  /// Calls a function if the connection is open, and passes the results to the channel.
  template <class Function>
  void run(const Function& function);
  [[nodiscard]] failure failure_of(const char* verb, int number) const;

  /// The bytes that one turn reads, so that the others get theirs.
  static constexpr std::size_t most_in_a_turn = std::size_t{1} << 20;
  static constexpr std::size_t staging_size = std::size_t{1} << 16;

  async::device_loop* loop_;
  cm::socket_address peer_;
  channel_state* owner_ = nullptr;
  phase at_ = phase::open;
  failure why_;
  std::vector<outgoing> outgoing_;
  outgoing* unused_outgoing_ = nullptr;
  outgoing* first_ = nullptr;
  outgoing* last_ = nullptr;
  /// Frames that are sent, and not passed to the channel.
  outgoing* first_sent_ = nullptr;
  outgoing* last_sent_ = nullptr;
  bool is_in_turn_ = false;
  bool waits_for_writing_ = false;
  /// The peer takes no more; what it has sent is read to its end.
  bool is_write_broken_ = false;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<block> blocks_;
  block* free_ = nullptr;
  block* current_ = nullptr;
  std::size_t block_size_;
  frame_stream stream_;
  std::unique_ptr<std::byte[]> staging_;
  std::span<const std::byte> staged_;
  turn_waiter turn_{*this};
  end_of_loop<tcp_carrier> end_{*this};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/tcp_carrier.ipp>
#endif
