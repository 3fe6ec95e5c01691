// SPDX-License-Identifier: MIT
// The rings of a connection: what its messages mean for their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/message_taker.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/remote/detail/ring_slots.hpp>
#include <adverb/remote/ring_description.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/request/send_chain.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class ring_port;

/// A message of a ring that is no write: a type, a count, and places. Little-endian.
///
///     offset  size  content
///          0     1  type
///          1     1  number of places
///          2     2  0
///          4        for each place 4 bytes; behind it 4 with the length if it was written
struct ring_frame {
  /// Slots that the reader has freed.
  static constexpr std::byte freed{1};
  /// Slots that the writer has written, over iWARP, whose writes carry no immediate data.
  static constexpr std::byte written{2};
  /// The writer requests the next acknowledgement. It names no place.
  static constexpr std::byte asked{3};
  /// The writer writes no more entries. It names no place.
  static constexpr std::byte ended{4};
  static constexpr std::size_t size = 256;
  static constexpr std::size_t front = 4;
  /// Shorter frames are filled up.
  // soft-iWARP may send other bytes in place of a message of up to 32 bytes. See docs/decisions.md,
  // "Rings in the memory of a peer".
  static constexpr std::size_t least = 40;
  static_assert(front + ring_sizes::most_freed * 4 <= size);
  static constexpr std::uint32_t most_written = (size - front) / 8;

  /// Returns the number of bytes for each place that a frame of this kind names.
  [[nodiscard]] static constexpr std::size_t bytes_of_place(std::byte kind) noexcept {
    return kind == freed ? 4 : 8;
  }
  /// Returns the bytes with the places that a received frame names; none if it is malformed.
  [[nodiscard]] static std::optional<std::span<const std::byte>> places_of(
      std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < front || bytes[0] < freed || bytes[0] > ended) return std::nullopt;
    const std::size_t length = static_cast<std::size_t>(bytes[1]) * bytes_of_place(bytes[0]);
    if ((length == 0) != is_note(bytes[0]) || bytes.size() != std::max(front + length, least))
      return std::nullopt;
    return bytes.subspan(front, length);
  }
  [[nodiscard]] static constexpr bool is_note(std::byte kind) noexcept {
    return kind == asked || kind == ended;
  }
};

/// One end of a ring. Kept by references: of the handle of the program, and of entries.
class ring_end {
 public:
  ring_end(const ring_end&) = delete;
  ring_end& operator=(const ring_end&) = delete;

  void add_reference() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete this;
  }
  /// The same, when the caller has one more.
  void release_another() noexcept { --references_; }
  /// Returns the loop of its connection.
  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }
  [[nodiscard]] async::waiter_list& waiters() noexcept { return waiters_; }
  /// Has those that wait go on.
  void resume() noexcept {
    if (waiters_.empty()) [[likely]]
      return;
    resume_waiters();
  }
  /// Has the port take the messages of the connection.
  inline void begin();
  /// Returns true if nothing more will arrive.
  [[nodiscard]] inline bool has_ended() const noexcept;
  /// Returns true if that is because its connection has ended.
  [[nodiscard]] inline bool connection_has_ended() const noexcept;
  /// Reports why.
  void report(const char* verb, on_failure policy) const;
  /// The connection has gone.
  void port_gone() noexcept { port_ = nullptr; }

 protected:
  ring_end(ring_port& of, async::device_loop& loop) noexcept : port_{&of}, loop_{&loop} {}
  virtual ~ring_end() = default;

  /// Has the first that waits go on. Returns false if it still has to wait, or if nothing waits.
  /// The waiter may throw, and destroy the end unless the caller has a reference.
  [[nodiscard]] bool resume_first() noexcept {
    bool goes_on = !waiters_.empty();
    if (goes_on) loop_->call_and_keep_exception([&] { goes_on = waiters_.front().go_on(); });
    return goes_on;
  }

  ring_port* port_;

 private:
  void resume_waiters() noexcept;

  async::device_loop* loop_;
  std::uint32_t references_ = 1;
  async::waiter_list waiters_;
};

/// The reader's end of a ring.
class ring_reader final : public ring_end {
 public:
  /// Entries of any length up to that of a slot are `of_bytes`; others have that length.
  ring_reader(ring_port& of, reliable_link& link, const ring_options& options,
              std::uint32_t distance, bool of_bytes, on_failure policy);

  [[nodiscard]] ring_reader_slots& slots() noexcept { return slots_; }
  [[nodiscard]] const ring_description& description() const noexcept { return description_; }
  /// Returns the memory of a slot.
  [[nodiscard]] const std::byte* bytes(std::uint32_t slot) const noexcept {
    return bytes_ + std::size_t{slot} * description_.distance;
  }
  /// The handle of the program has gone.
  void detach() noexcept;
  /// Takes the first entry. There must be one.
  [[nodiscard]] ring_arrival take() {
    const ring_arrival first = slots_.take();
    add_reference();
    // Enough for a frame were acknowledged when they were freed.
    if (slots_.arrived() == 0 && slots_.owes_acknowledgement()) [[unlikely]]
      acknowledge();
    return first;
  }
  /// The program has done with an entry.
  void free(std::uint32_t slot) noexcept {
    slots_.free(slot);
    if (slots_.owes_acknowledgement()) [[unlikely]]
      acknowledge();
    release();
  }

  // For the port.

  [[nodiscard]] ring_violation arrive(ring_place at, std::uint32_t length) noexcept {
    if (length - shortest_ > longer_) [[unlikely]]
      return ring_violation::wrong_length;
    return slots_.arrive(at, length);
  }
  /// Has those that wait take the entries that have arrived.
  void resume_for_entries() noexcept {
    add_reference();
    while (slots_.arrived() != 0 && resume_first()) {
    }
    release();
  }
  /// The writer requests the next acknowledgement, or writes no more entries.
  void note(std::byte type) noexcept {
    if (type == ring_frame::asked)
      slots_.ask();
    else
      slots_.end();
    if (slots_.owes_acknowledgement()) acknowledge();
  }
  /// Returns true if no entry is left to take, none will come, and the writer has the names of all
  /// free slots.
  [[nodiscard]] inline bool is_finished() const noexcept;
  /// Sends the acknowledgements that are due. Returns false if there is no room.
  [[nodiscard]] bool post_due() noexcept;

 private:
  void acknowledge() noexcept;

  ring_reader_slots slots_;
  async::loop_memory memory_;
  std::byte* bytes_ = nullptr;
  ring_description description_;
  /// The length of the shortest entry, and what the longest has more.
  std::uint32_t shortest_ = 0;
  std::uint32_t longer_ = 0;
};

/// A batch of writes, and over iWARP the notice behind them.
struct ring_batch : send_chain<64> {
  /// For the send window.
  static constexpr bool is_unsignaled = true;
};

/// A claim that is not posted.
struct ring_claim {
  std::uint32_t place = 0;
  std::uint32_t size = 0;
};

/// The writer's end of a ring.
class ring_writer final : public ring_end {
 public:
  ring_writer(ring_port& of, reliable_link& link, const ring_description& of_reader,
              on_failure policy);

  [[nodiscard]] const ring_writer_slots& slots() const noexcept { return slots_; }
  [[nodiscard]] const ring_description& description() const noexcept { return description_; }
  /// The handle of the program has gone. Published entries are still written.
  void detach() noexcept;
  [[nodiscard]] bool is_detached() const noexcept { return is_detached_; }
  /// Returns true if nothing is left to do without a handle.
  [[nodiscard]] bool is_done() const noexcept {
    return is_detached_ && posted_ == published_ && !must_end();
  }
  /// Returns true if this many slots are free, and can be claimed before the next `publish`, as far
  /// as the send queue is long, and the end is not on its way.
  [[nodiscard]] bool has_room(std::uint32_t slots) const noexcept {
    return slots_.free() >= slots && phase_ != phase::closing &&
           (posted_ == claimed_ || most_unposted_ >= claimed_ - posted_ + slots);
  }
  /// Claims a slot for an entry of this size, which must fit. Null if there is no room.
  [[nodiscard]] std::byte* claim(std::uint32_t size) noexcept {
    if (slots_.free() == 0 || (claimed_ - posted_ >= most_unposted_ && !make_room())) [[unlikely]]
      return nullptr;
    const ring_place place = slots_.claim();
    claim_at(claimed_++) = {.place = place.encode(), .size = size};
    return bytes_ + offset_of(place);
  }
  /// Writes what was claimed, with one doorbell. If the send queue has no room, that waits for it.
  void publish() noexcept {
    if (posted_ == claimed_) return;
    published_ = claimed_;
    const bool is_single = published_ - posted_ == 1 && !has_notice_;
    if (!is_ready() || !(is_single ? post_only() : post_writes())) [[unlikely]]
      flush();
  }
  /// Requests the next acknowledgement for a wait for this many slots, unless one is requested. The
  /// reader acknowledges a quarter of the slots without a request.
  void ask_for(std::uint32_t slots) noexcept {
    const std::uint32_t free = slots_.free();
    if (slots <= free || slots - free >= at_once_) return;
    if (phase_ != phase::open || !slots_.ask()) return;
    must_ask_ = true;
    flush();
  }
  /// Publishes, and sends the reader the end.
  void close() noexcept {
    if (phase_ != phase::open) return;
    phase_ = phase::closing;
    most_unposted_ = 0;
    published_ = claimed_;
    flush();
  }
  [[nodiscard]] bool is_closed() const noexcept { return phase_ != phase::open; }

  // For the port.

  [[nodiscard]] ring_violation take_back(ring_place freed) noexcept {
    return slots_.take_back(freed);
  }
  /// The reader has a further frame.
  void frame_sent() noexcept {
    if (frames_to_end_ == 0 || --frames_to_end_ != 0) return;
    phase_ = phase::closed;
    resume();
  }
  /// The connection has ended. It may do so before the end is acknowledged, when the reader has
  /// done with every entry.
  void connection_ended() noexcept {
    if (frames_to_end_ != 0) phase_ = phase::closed;
  }
  /// Posts what was published, and notes. Returns false if there is no room.
  [[nodiscard]] bool post_due() noexcept;

 private:
  enum class phase : std::uint8_t {
    open,
    /// The reader does not have the end yet, as far as is known.
    closing,
    closed,
  };

  void flush() noexcept;
  [[gnu::cold]] [[nodiscard]] bool make_room() noexcept;
  /// Returns true if the end is to be sent, behind what was published.
  [[nodiscard]] bool must_end() const noexcept {
    return phase_ == phase::closing && frames_to_end_ == 0;
  }
  /// Returns true if nothing waits for room in the send queue, as far as that is fast to see.
  [[nodiscard]] inline bool is_ready() const noexcept;
  /// Posts what was published. Returns false if there is no room.
  [[nodiscard]] bool post_writes() noexcept;
  /// Posts the only write that was published.
  [[nodiscard]] bool post_only() noexcept;
  /// Sends a frame without places. Returns false if there is no room.
  [[nodiscard]] bool post_note(std::byte type) noexcept;
  [[nodiscard]] ring_claim& claim_at(std::uint32_t number) noexcept {
    return claims_[number & claims_mask_];
  }
  [[nodiscard]] std::size_t offset_of(ring_place place) const noexcept {
    return std::size_t{place.slot} * description_.distance;
  }
  /// Calls a function with the write of a claim, inline if it is short enough.
  template <class Function>
  [[gnu::always_inline]] auto with_write_of(const ring_claim& which,
                                            const Function& function) const {
    const std::size_t offset = offset_of(ring_place::decode(which.place));
    const auto target = description_.memory.unchecked_slice(offset, which.size);
    const auto name = static_cast<immediate>(which.place);
    if (which.size <= most_inline_)
      return function(write_with_immediate(
          target, name, inline_data{std::span{bytes_ + offset, std::size_t{which.size}}}));
    return function(
        write_with_immediate(target, name, buffer_.unchecked_slice(offset, which.size)));
  }
  [[nodiscard]] send_window_result post_batch(std::uint32_t count);
  /// The same over iWARP: the writes carry no immediate data, and a notice follows.
  [[nodiscard]] send_window_result post_with_notice(std::uint32_t count);

  ring_writer_slots slots_;
  ring_description description_;
  async::loop_memory memory_;
  const_buffer buffer_;
  std::byte* bytes_ = nullptr;
  ring_batch batch_;
  std::vector<ring_claim> claims_;
  /// One less than their number, which is a power of two.
  std::uint32_t claims_mask_ = 0;
  /// Numbers of entries, modulo 2^32.
  std::uint32_t claimed_ = 0;
  std::uint32_t published_ = 0;
  std::uint32_t posted_ = 0;
  /// 0 once it is closed.
  std::uint32_t most_unposted_ = 0;
  bool has_notice_ = false;
  /// The size of the longest entry that the queue pair sends inline.
  std::uint32_t most_inline_ = 0;
  /// The number of slots that the reader acknowledges without a request.
  std::uint32_t at_once_ = 0;
  phase phase_ = phase::open;
  /// Frames in progress up to the one with the end; 0 unless that is in progress.
  std::uint32_t frames_to_end_ = 0;
  bool must_ask_ = false;
  bool is_detached_ = false;
};

/// Takes the messages of a connection for its rings: at most one in each direction. The link owns
/// it.
class ring_port final : public link_attachment {
 public:
  ring_port(reliable_link& link, on_failure policy);
  ADVERB_FUNC ~ring_port() override;

  /// Returns the port of a link. Makes it if there is none.
  [[nodiscard]] static ring_port* of(reliable_link& link, on_failure policy);

  /// Adds an end. Fails with EINVAL if the connection has one, or too few receives for both.
  void add(ring_reader& reader, std::uint32_t receives, on_failure policy);
  void add(ring_writer& writer, std::uint32_t receives, on_failure policy);
  void remove_reader() noexcept { reader_ = nullptr; }
  void remove_writer() noexcept {
    ring_writer* const removed = std::exchange(writer_, nullptr);
    removed->port_gone();
    if (removed->is_detached()) removed->release();
  }

  [[nodiscard]] reliable_link& link() const noexcept { return *link_; }
  /// Begins to take the messages.
  void begin() {
    if (!has_begun_) [[unlikely]]
      begin_now();
  }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Reports why it has ended.
  void report(const char* verb, on_failure policy) const;

  /// Posts what is due, or waits for room in the send queue.
  void flush() noexcept;
  /// Returns the memory of the next frame.
  [[nodiscard]] std::span<std::byte, ring_frame::size> frame_bytes() const noexcept {
    return frames_.bytes().subspan(next_frame_ * ring_frame::size).first<ring_frame::size>();
  }
  /// Returns the next frame, of at least `ring_frame::least` bytes.
  [[nodiscard]] const_buffer frame(std::size_t size) const noexcept {
    return buffer_.unchecked_slice(next_frame_ * ring_frame::size,
                                   static_cast<std::uint32_t>(std::max(size, ring_frame::least)));
  }
  /// Begins a frame.
  std::span<std::byte, ring_frame::size> begin_frame(std::byte type,
                                                     std::size_t count) const noexcept {
    const std::span bytes = frame_bytes();
    bytes[0] = type;
    bytes[1] = static_cast<std::byte>(count);
    bytes[2] = bytes[3] = std::byte{};
    return bytes;
  }
  /// Sends a frame, for which there is room.
  void post_frame(std::size_t size) noexcept;
  /// Returns the number of frames that the peer does not have yet.
  [[nodiscard]] std::uint32_t frames_in_progress() const noexcept { return frames_in_progress_; }
  /// The frame was posted. Its memory is used again when the send queue has had room for all
  /// others.
  void frame_posted() noexcept {
    if (++next_frame_ == frame_count_) next_frame_ = 0;
  }
  /// Takes the result of a post. Returns false if there was no room. Ends the connection if it
  /// failed.
  bool check(const send_window_result& posted) noexcept;

  ADVERB_FUNC void cancel_waits() noexcept override;
  [[nodiscard]] bool has_rings() const noexcept override { return true; }

  // For the taker of messages.
  void take_message(receive_block& block) noexcept;
  void messages_ended() noexcept;

 private:
  /// Waits for room in the send queue.
  struct room_wait : room_waiter {
    explicit room_wait(ring_port& of) noexcept : room_waiter{&resume}, owner{&of} {}
    static bool resume(async::waiter& which);
    ring_port* owner;
  };
  /// Waits for the other completions of a poll, so that the program takes the entries in a row.
  struct batch_wait : async::waiter {
    explicit batch_wait(ring_port& of) noexcept : waiter{&resume}, owner{&of} {}
    static bool resume(async::waiter& which);
    ring_port* owner;
  };

  [[gnu::cold]] void begin_now();
  static void frame_sent(async::operation& which, const completion& each);
  template <class End>
  void add_to(End*& place, End& added, std::uint32_t receives, on_failure policy);
  [[nodiscard]] bool post_due() noexcept;
  void resume_reader() noexcept;
  /// Takes a message that is no entry.
  void take_frame(receive_block& block) noexcept;
  [[nodiscard]] ring_violation take_frame(std::span<const std::byte> bytes) noexcept;
  void violate(ring_violation which) noexcept;
  void end() noexcept;
  /// Has the steps of both ends go on.
  void resume() noexcept;

  reliable_link* link_;
  ring_reader* reader_ = nullptr;
  ring_writer* writer_ = nullptr;
  async::loop_memory frames_;
  const_buffer buffer_;
  std::size_t frame_count_ = 0;
  std::size_t next_frame_ = 0;
  std::uint32_t frames_in_progress_ = 0;
  std::uint32_t receives_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;
  failure why_;
  room_wait room_wait_{*this};
  batch_wait batch_wait_{*this};
  message_taker<ring_port> taker_;
};

inline void ring_end::begin() {
  if (port_ != nullptr) [[likely]]
    port_->begin();
}
inline bool ring_writer::is_ready() const noexcept {
  return port_ != nullptr && port_->link().is_ready();
}
inline bool ring_reader::is_finished() const noexcept {
  return slots_.is_finished() &&
         (has_ended() || (slots_.freed() == 0 && port_->frames_in_progress() == 0));
}
inline bool ring_end::has_ended() const noexcept { return port_ == nullptr || port_->has_ended(); }
inline bool ring_end::connection_has_ended() const noexcept {
  return port_ != nullptr && port_->has_ended();
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/ring_port.ipp>
#endif
