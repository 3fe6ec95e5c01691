// SPDX-License-Identifier: MIT
// The carrier of the frames of a channel: a reliable connection, or a TCP connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <adverb/async/detail/receive_loans.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/error.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/message_frame.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class channel_state;
class frame_carrier;
class message_dispatch;

/// Memory of the peer that is valid for one message.
using landing_handle = remote_buffer<std::byte, access_right::remote_write>;

/// A frame in progress, and its memory.
struct frame_slot {
  channel_state* owner = nullptr;
  mutable_buffer memory{};
  std::byte* bytes = nullptr;
  /// The message whose memory it uses; null if that is not the program's.
  message_dispatch* waiting = nullptr;
  frame_slot* next_free = nullptr;
  bool is_posted = false;
  /// The peer has not confirmed its message, which may have to be sent again.
  bool is_kept = false;
};

/// A frame that has arrived, and whose memory is free again when this object is destroyed.
class frame_block {
 public:
  frame_block() noexcept = default;
  frame_block(frame_carrier& from, void* which, std::span<const std::byte> bytes) noexcept
      : from_{&from}, which_{which}, bytes_{bytes} {}
  frame_block(frame_block&& other) noexcept
      : from_{std::exchange(other.from_, nullptr)}, which_{other.which_}, bytes_{other.bytes_} {}
  frame_block& operator=(frame_block&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(which_, other.which_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  inline ~frame_block();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Returns true if it is in the memory of this carrier.
  [[nodiscard]] bool is_of(const frame_carrier& which) const noexcept { return from_ == &which; }

 private:
  frame_carrier* from_ = nullptr;
  void* which_ = nullptr;
  std::span<const std::byte> bytes_;
};

/// Carries the frames of one channel, which owns it, both ways and in order. It calls
/// `channel_state::receive` for each frame that arrives, `sent` for each that is sent, and `ended`
/// once, as the last, when the loop runs: not within `send`, `write`, `close` and `cancel`.
class frame_carrier {
 public:
  frame_carrier() noexcept = default;
  frame_carrier(const frame_carrier&) = delete;
  frame_carrier& operator=(const frame_carrier&) = delete;
  virtual ~frame_carrier() = default;

  /// Returns which it is.
  [[nodiscard]] virtual messages::network network() const noexcept = 0;
  [[nodiscard]] virtual async::device_loop& loop() const noexcept = 0;
  /// Returns the address of the peer; an empty one if it has gone.
  [[nodiscard]] virtual cm::socket_address peer_address() const noexcept = 0;
  /// Returns true if the connection is over iWARP, where the connecting side sends first.
  [[nodiscard]] virtual bool is_iwarp() const noexcept = 0;
  /// Returns memory for the program, registered if the network needs that.
  [[nodiscard]] virtual async::loop_memory memory(std::size_t size, access_rights rights,
                                                  on_failure policy) = 0;
  /// Returns the domain of registered memory; an empty one if the network needs none.
  [[nodiscard]] virtual protection_domain_ref protection_domain() const noexcept = 0;
  /// Returns the share of the receives of the loop that the channel grants; an empty one if it has
  /// receives of its own.
  [[nodiscard]] virtual receive_share take_share() noexcept { return {}; }

  /// Begins to carry the frames of a channel.
  virtual void start(channel_state& of) = 0;
  /// Returns false when no more can be sent.
  [[nodiscard]] virtual bool is_open() const noexcept = 0;
  /// Returns false if nothing can arrive because the program holds every block.
  [[nodiscard]] virtual bool is_audible() const noexcept = 0;
  /// Sends a frame of one part or more, of which the first is the memory of the slot.
  virtual void send(frame_slot& slot, std::span<const const_buffer> frame) = 0;
  /// Sends a message into the memory of the peer, and a frame behind it.
  virtual void write(frame_slot& slot, const landing_handle& target,
                     std::span<const const_buffer> message, const_buffer frame) = 0;
  /// Opens memory for one message of the peer. The region ends that.
  [[nodiscard]] virtual landing_handle open(std::span<std::byte> memory, memory_region& region,
                                            on_failure policy) = 0;
  /// Ends the connection because of a failure; because all is done, if the number is 0.
  virtual void close(int error_number) = 0;
  /// Ends the connection at once.
  virtual void cancel() = 0;
  /// The program has no handle of the channel any more. Ends the connection.
  virtual void detach() noexcept = 0;

 private:
  friend class frame_block;

  /// The memory of a frame is free again.
  virtual void give_back(void* which) noexcept = 0;
};

/// Calls its owner when the loop ends.
template <class Owner>
class end_of_loop : public async::waiter {
 public:
  explicit end_of_loop(Owner& of) noexcept
      : waiter{[](waiter& which) {
          which.leave();
          static_cast<end_of_loop&>(which).owner_->loop_ended();
          return true;
        }},
        owner_{&of} {}

 private:
  Owner* owner_;
};

inline frame_block::~frame_block() {
  if (from_ != nullptr) from_->give_back(which_);
}

}  // namespace adverb::inline ADVERB_ABI::detail
