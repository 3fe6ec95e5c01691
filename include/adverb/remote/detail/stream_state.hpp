// SPDX-License-Identifier: MIT
// One side of a stream of bytes between two memories. Without I/O.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/remote/detail/stream_offer.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The rule that the peer of a stream violates.
enum class stream_violation : std::uint8_t {
  none,
  unknown_message,
  unknown_control,
  /// The message and its write have different lengths.
  wrong_length,
  too_many_bytes,
  too_many_messages,
  wrong_credits,
  /// A buffer is named while two are not full.
  early_buffer,
  wrong_buffer,
  after_shutdown,
  after_disconnect,
};

/// Returns the rule as a sentence.
[[nodiscard]] std::string_view describe(stream_violation violated) noexcept;

/// A message of a stream: 32 bits, of which the highest 3 are its kind.
struct stream_message {
  enum class kind : std::uint8_t { data = 0, credits = 4, control = 7 };
  enum class control : std::uint8_t { disconnect, keepalive, shutdown };

  [[nodiscard]] static constexpr std::uint32_t encode(kind of, std::uint32_t value) noexcept {
    return std::uint32_t{static_cast<std::uint8_t>(of)} << value_bits | value;
  }
  [[nodiscard]] static constexpr std::uint32_t encode(control which) noexcept {
    return encode(kind::control, static_cast<std::uint8_t>(which));
  }
  [[nodiscard]] static constexpr kind kind_of(std::uint32_t message) noexcept {
    return static_cast<kind>(message >> value_bits);
  }
  [[nodiscard]] static constexpr std::uint32_t value_of(std::uint32_t message) noexcept {
    return message & stream_limits::most_bytes;
  }

 private:
  static constexpr unsigned value_bits = 29;
};

/// The sizes of one side.
struct stream_sizes {
  /// Number of requests that can be in progress.
  std::uint32_t requests = 0;
  /// Number of requests of a message that writes: 2 over iWARP, whose writes carry no immediate
  /// data.
  std::uint32_t requests_of_write = 1;
  /// In bytes.
  std::uint32_t send_buffer = 0;
  /// In bytes: a multiple of 2.
  std::uint32_t receive_buffer = 0;
  /// Number of receives that are posted for data.
  std::uint16_t receives = 0;
  /// Bytes up to this length need no send buffer.
  std::uint32_t max_inline = 0;
};

/// A write of data to the peer.
struct stream_transfer {
  /// The memory of the peer, and the length.
  stream_target target;
  /// The offset in the send buffer, unless it is inline.
  std::uint32_t source = 0;
  bool is_inline = false;
  bool is_signaled = false;

  [[nodiscard]] std::uint32_t message() const noexcept {
    return stream_message::encode(stream_message::kind::data, target.length);
  }
};

/// A message to the peer that is no data.
struct stream_notice {
  /// Names a half of the receive buffer in the list of the peer.
  struct half {
    /// The offset of the half.
    std::uint32_t offset = 0;
    /// The entry of the list.
    std::uint32_t entry = 0;
  };

  std::uint32_t message = 0;
  std::optional<half> freed{};
};

/// The state machine of one side: messages of the peer, reads and writes of the program and
/// completions in, transfers and notices out. Only construction allocates.
class stream_state {
 public:
  explicit stream_state(const stream_sizes& sizes);

  /// Takes the offer of the peer. Over iWARP the accepting side `waits` for the first message.
  void connect(const stream_offer& of_peer, bool waits) noexcept;

  // Writing.

  /// Returns the next write of up to `size` bytes; of none if it has to wait.
  [[nodiscard]] stream_transfer write(std::size_t size) noexcept;
  /// No write follows.
  void shut_down() noexcept {
    if (!is_shut_down()) is_shut_down_ = must_shut_down_ = true;
  }
  /// No write follows, and nothing that the peer writes is read. A shutdown is due, and when the
  /// peer has everything, a disconnect. Once the peer is gone only that is due, at once.
  void disconnect() noexcept {
    if (is_disconnected_) return;
    if (!is_peer_gone_) shut_down();
    is_disconnected_ = must_disconnect_ = true;
  }
  /// Returns true once no write may follow.
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_ || is_disconnected_; }
  /// Returns true if a notice is due.
  [[nodiscard]] bool owes_notice() const noexcept;
  /// Returns the next notice that is due, if there is room for it.
  [[nodiscard]] std::optional<stream_notice> notice() noexcept;
  /// Notes that `outstanding` requests are still in progress: they complete in order.
  void completed(std::uint32_t outstanding) noexcept;
  [[nodiscard]] bool is_any_in_progress() const noexcept { return requests_ != 0; }
  /// Returns true if the peer has all data.
  [[nodiscard]] bool has_delivered() const noexcept { return requests_ == notices_; }
  /// Returns true if the peer has everything.
  [[nodiscard]] bool has_finished() const noexcept {
    return requests_ == 0 && !must_shut_down_ && !must_disconnect_;
  }

  // Reading.

  /// Returns the number of bytes that can be read.
  [[nodiscard]] std::uint32_t readable() const noexcept { return readable_; }
  /// Returns the offset of the first, and how many follow it before the end of the buffer.
  [[nodiscard]] std::uint32_t read_offset() const noexcept { return read_offset_; }
  [[nodiscard]] std::uint32_t contiguous() const noexcept {
    return std::min(readable_, sizes_.receive_buffer - read_offset_);
  }
  /// The program has read bytes, at most those that are contiguous.
  void consume(std::uint32_t size) noexcept {
    readable_ -= size;
    freed_ += size;
    read_offset_ += size;
    if (read_offset_ == sizes_.receive_buffer) read_offset_ = 0;
  }
  /// Returns true if the peer writes no more.
  [[nodiscard]] bool has_peer_shut_down() const noexcept {
    return is_peer_shut_down_ || is_peer_gone_;
  }
  /// Returns true if the peer reads no more either.
  [[nodiscard]] bool is_peer_gone() const noexcept { return is_peer_gone_; }

  // The peer.

  /// Returns the number of buffers of the peer that are not full.
  [[nodiscard]] std::uint32_t buffers() const noexcept { return target_count_; }
  /// Returns the entry of the list in which the peer names its next buffer.
  [[nodiscard]] std::uint32_t entry() const noexcept { return entry_; }
  /// A message has arrived, behind a write of `written` bytes. `named` is the entry of the list.
  [[nodiscard]] stream_violation arrive(std::uint32_t message, std::uint32_t written,
                                        const stream_target& named) noexcept;

 private:
  struct in_progress {
    /// Bytes of the send buffer.
    std::uint32_t bytes = 0;
    std::uint32_t requests = 0;
    bool is_notice = false;
  };

  void post(const in_progress& added) noexcept;
  [[nodiscard]] bool has_room_for_notice(std::uint32_t requests) const noexcept {
    return notices_ + requests <= stream_limits::notices;
  }
  [[nodiscard]] bool owes_credits() const noexcept;
  [[nodiscard]] stream_violation take_data(std::uint32_t length) noexcept;
  [[nodiscard]] stream_violation take_credits(std::uint16_t limit,
                                              const stream_target* named) noexcept;
  [[nodiscard]] stream_violation take_control(std::uint32_t which) noexcept;

  [[nodiscard]] static constexpr std::uint16_t distance(std::uint16_t from,
                                                        std::uint16_t to) noexcept {
    return static_cast<std::uint16_t>(to - from);
  }

  stream_sizes sizes_;
  bool waits_ = false;

  // Writing. The requests in progress are a ring; each message is one entry.
  std::vector<in_progress> messages_;
  std::uint32_t first_message_ = 0;
  std::uint32_t next_message_ = 0;
  /// In requests: of all messages, and of notices.
  std::uint32_t requests_ = 0;
  std::uint32_t notices_ = 0;
  std::uint32_t send_offset_ = 0;
  std::uint32_t send_used_ = 0;
  std::uint32_t unsignaled_ = 0;
  /// The buffers of the peer that are not full.
  std::array<stream_target, stream_limits::list_size> targets_{};
  std::uint32_t target_count_ = 0;
  std::uint32_t most_target_ = 0;
  std::uint32_t entry_ = 1;
  /// Data messages, modulo 2^16: sent, and the number that the peer grants.
  std::uint16_t sent_ = 0;
  std::uint16_t limit_ = 0;
  std::uint16_t peer_receives_ = 0;

  // Reading. Each byte of the buffer is granted to the peer, readable, or freed.
  std::uint32_t granted_;
  std::uint32_t readable_ = 0;
  std::uint32_t freed_;
  std::uint32_t read_offset_ = 0;
  std::uint32_t freed_offset_;
  std::uint32_t peer_entry_ = 1;
  std::uint32_t peer_list_size_ = stream_limits::list_size;
  /// Data messages, modulo 2^16: received, and received when the peer was granted more.
  std::uint16_t received_ = 0;
  std::uint16_t credited_ = 0;

  bool is_shut_down_ = false;
  bool must_shut_down_ = false;
  bool is_disconnected_ = false;
  bool must_disconnect_ = false;
  bool is_peer_shut_down_ = false;
  bool is_peer_gone_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/stream_state.ipp>
#endif
