// SPDX-License-Identifier: MIT
// The operations of a channel: messages on their way, and offers that the program takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/message_frame.hpp>
#include <adverb/messages/detail/message_session.hpp>
#include <adverb/request/inline_data.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class message_receipt;

/// The parts of a message: bytes that are copied, and registered memory behind them.
struct message_parts {
  static constexpr std::size_t most_parts = 3;

  std::array<std::span<const std::byte>, most_parts> copied{};
  std::array<const_buffer, most_parts> buffers{};
  std::uint32_t copied_count = 0;
  std::uint32_t buffer_count = 0;
  std::size_t copied_size = 0;
  std::size_t size = 0;
  std::uint8_t lane = 0;
  /// 0, or `message_frame::tagged`.
  std::uint8_t flags = 0;
  std::uint64_t tag = 0;

  void add(std::span<const std::byte> bytes) noexcept {
    copied[copied_count++] = bytes;
    copied_size += bytes.size();
    size += bytes.size();
  }
  void add(const_buffer buffer) noexcept {
    // Siw of Linux 6.1 dereferences a null pointer at a scatter/gather element without bytes.
    if (buffer.size() == 0) return;
    buffers[buffer_count++] = buffer;
    size += buffer.size();
  }
};

/// Adds a part of a message: registered memory, or bytes that are copied.
template <class Part>
void add_part(message_parts& all, const Part& part) noexcept {
  if constexpr (std::is_convertible_v<const Part&, const_buffer>) {
    all.add(const_buffer{part});
  } else if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
    all.add(std::as_bytes(std::span{std::string_view{part}}));
  } else {
    all.add(inline_data{part}.bytes());
  }
}

/// Returns the parts of a message.
template <class... Parts>
[[nodiscard]] message_parts parts_of(const Parts&... parts) noexcept {
  constexpr std::size_t buffers =
      (std::size_t{std::is_convertible_v<const Parts&, const_buffer>} + ... + 0);
  static_assert(sizeof...(Parts) > 0, "there is nothing to send");
  static_assert(buffers <= message_parts::most_parts &&
                    sizeof...(Parts) - buffers <= message_parts::most_parts,
                "a message has at most three copied parts and three buffers of registered memory");
  constexpr std::array<bool, sizeof...(Parts)> is_buffer{
      std::is_convertible_v<const Parts&, const_buffer>...};
  static_assert(std::ranges::is_sorted(is_buffer),
                "the copied parts of a message come before its registered memory");
  message_parts all;
  (add_part(all, parts), ...);
  return all;
}

/// The bit of a tag that marks a reply.
inline constexpr std::uint64_t reply_bit = std::uint64_t{1} << 63;

/// A message on its way: it waits for room, for the answer of the peer, or for the device.
class message_dispatch : public async::waiter {
 public:
  /// Returns true if it can be destroyed without harm: the device does not use its memory.
  [[nodiscard]] bool is_waiting() const noexcept {
    return at_ != phase::posted && at_ != phase::confirmed;
  }
  /// Ends the channel. This operation finishes when the device has let go of its memory.
  void end_posted();

  message_dispatch(const message_dispatch&) = delete;
  message_dispatch& operator=(const message_dispatch&) = delete;

 protected:
  message_dispatch(function* finish, channel_state& of) noexcept : waiter{finish}, channel_{&of} {}
  ~message_dispatch();

  /// Starts it. Returns false if it has finished already. The parts must stay until it has
  /// finished.
  [[nodiscard]] bool start(const message_parts& parts);
  /// Gives it up. Returns false if the device uses its memory: then it finishes later.
  [[nodiscard]] bool give_up() noexcept;
  /// Returns the result, or reports the failure.
  void take_result(on_failure policy) const;

  [[nodiscard]] channel_state& channel() const noexcept { return *channel_; }
  [[nodiscard]] bool has_failed() const noexcept { return refusal_ != 0; }

 private:
  friend class channel_state;

  /// `unconfirmed`: it is written to the peer, which has not confirmed that. `confirmed`: the peer
  /// has, but the device still uses the memory. Both only if a broken link is replaced.
  enum class phase : std::uint8_t {
    finished,
    waits_for_room,
    offered,
    posted,
    unconfirmed,
    confirmed
  };

  channel_state* channel_;
  const message_parts* parts_ = nullptr;
  landing_handle target_;
  phase at_ = phase::finished;
  bool waits_for_credit_ = false;
  std::int64_t waits_since_ = 0;
  /// 0, or why it was not sent.
  int refusal_ = 0;
};

/// A message that has arrived, or an offer. It stays where it is until the program gives it back.
struct arrived_message {
  message_frame header;
  std::uint64_t tag = 0;
  frame_block block;
  /// The offer that is not over; null for a message, and for an offer that is.
  incoming_offer* offer = nullptr;
  /// The operation that takes the offer.
  message_receipt* taking = nullptr;
  /// The program has given it back before that operation has finished.
  bool is_dropped = false;
  arrived_message* next = nullptr;

  [[nodiscard]] bool is_offer() const noexcept { return header.type == message_frame_type::offer; }
};

/// An offer that the program takes into its memory.
class message_receipt : public async::waiter {
 public:
  /// Returns false: the peer may write into its memory.
  [[nodiscard]] static constexpr bool is_waiting() noexcept { return false; }
  /// Ends the channel. This operation finishes when the channel has ended.
  void end_posted();

  message_receipt(const message_receipt&) = delete;
  message_receipt& operator=(const message_receipt&) = delete;

  /// Returns the memory that the message gets.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }

 protected:
  message_receipt(function* finish, channel_state& of, arrived_message& taken) noexcept
      : waiter{finish}, channel_{&of}, message_{&taken} {}
  ~message_receipt();

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start(mutable_buffer target);
  /// Returns the bytes of the message, or reports the failure.
  [[nodiscard]] std::span<std::byte> take_result(on_failure policy) const;

 private:
  friend class channel_state;

  channel_state* channel_;
  arrived_message* message_;
  std::span<std::byte> memory_;
  memory_region region_;
  landing_handle handle_;
  failure why_;
  bool is_complete_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail
