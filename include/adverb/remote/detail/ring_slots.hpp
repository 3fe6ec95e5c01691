// SPDX-License-Identifier: MIT
// The slots of a ring, as its writer and its reader see them. Without I/O.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/remote/ring_description.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A slot, and how often it had been written before, modulo 256. On the wire a number of 32 bits,
/// whose highest 8 are the generation.
struct ring_place {
  static constexpr std::uint32_t most_slots = ring_sizes::most_slots;

  std::uint32_t slot = 0;
  std::uint8_t generation = 0;

  [[nodiscard]] static constexpr ring_place decode(std::uint32_t number) noexcept {
    return {.slot = number & (most_slots - 1),
            .generation = static_cast<std::uint8_t>(number >> 24U)};
  }
  [[nodiscard]] constexpr std::uint32_t encode() const noexcept {
    return slot | std::uint32_t{generation} << 24U;
  }
  friend constexpr bool operator==(ring_place, ring_place) noexcept = default;
};

/// The rule that the peer of a ring violates.
enum class ring_violation : std::uint8_t {
  none,
  /// The slot does not exist.
  unknown_slot,
  /// The slot is not the sender's.
  foreign_slot,
  /// The slot has been used since.
  old_generation,
  after_end,
  wrong_length,
  malformed_frame,
  no_ring,
};

/// Returns the rule as a sentence.
[[nodiscard]] std::string_view describe(ring_violation violated) noexcept;

/// A queue of numbers with room for each slot once.
template <class T>
class ring_queue {
 public:
  explicit ring_queue(std::uint32_t slots)
      : mask_{std::bit_ceil(slots) - 1}, entries_(mask_ + std::size_t{1}) {}

  void push(const T& last) noexcept { entries_[tail_++ & mask_] = last; }
  /// Takes the first. There must be one.
  [[nodiscard]] T pop() noexcept { return entries_[head_++ & mask_]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] bool empty() const noexcept { return tail_ == head_; }

 private:
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t mask_;
  std::vector<T> entries_;
};

/// The slots of the writer's side: free ones in a queue, claimed ones, and those in flight until
/// the reader names them again. Only construction allocates.
class ring_writer_slots {
 public:
  /// All slots are free.
  explicit ring_writer_slots(std::uint32_t slots) : size_{slots}, states_(slots), free_{slots} {
    for (std::uint32_t each = 0; each < slots; ++each) free_.push(each);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t free() const noexcept { return free_.size(); }
  [[nodiscard]] std::uint32_t claimed() const noexcept { return claimed_; }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }

  /// Takes the slot that has been free for longest. There must be one.
  [[nodiscard]] ring_place claim() noexcept {
    ++claimed_;
    const std::uint32_t slot = free_.pop();
    return {.slot = slot, .generation = states_[slot].generation};
  }
  /// The slot of a claim is being written.
  void publish(ring_place claimed) noexcept {
    --claimed_;
    ++in_flight_;
    states_[claimed.slot].is_in_flight = true;
    check();
  }
  /// The program waits for more than one free slot. Returns true if the reader must be notified of
  /// that.
  [[nodiscard]] bool ask() noexcept { return in_flight_ != 0 && !std::exchange(is_asked_, true); }
  /// The reader has freed a slot.
  [[nodiscard]] ring_violation take_back(ring_place freed) noexcept {
    if (freed.slot >= size_) [[unlikely]]
      return ring_violation::unknown_slot;
    state& at = states_[freed.slot];
    if (!at.is_in_flight) [[unlikely]]
      return ring_violation::foreign_slot;
    if (at.generation != freed.generation) [[unlikely]]
      return ring_violation::old_generation;
    at = {.generation = static_cast<std::uint8_t>(at.generation + 1), .is_in_flight = false};
    free_.push(freed.slot);
    --in_flight_;
    is_asked_ = false;
    check();
    return ring_violation::none;
  }

 private:
  struct state {
    std::uint8_t generation = 0;
    bool is_in_flight = false;
  };

  void check() const noexcept {
    if constexpr (hardened(ADVERB_HARDENING_DEBUG))
      require(free() + claimed_ + in_flight_ == size(), "remote_ring", "the writer lost a slot");
  }

  std::uint32_t size_;
  std::vector<state> states_;
  ring_queue<std::uint32_t> free_;
  std::uint32_t claimed_ = 0;
  std::uint32_t in_flight_ = 0;
  bool is_asked_ = false;
};

/// An entry that has arrived.
struct ring_arrival {
  std::uint32_t slot = 0;
  std::uint32_t length = 0;
};

/// The slots of the reader's side. Each is with the writer, or its entry has arrived, or the
/// program holds it, or it is free and not acknowledged. Only construction allocates.
class ring_reader_slots {
 public:
  /// The writer has all slots. This side acknowledges `at_once` of them without a request.
  ring_reader_slots(std::uint32_t slots, std::uint32_t at_once)
      : size_{slots},
        states_(slots),
        arrived_{slots},
        freed_{slots},
        at_once_{at_once},
        with_writer_{slots} {}

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// Returns the number of slots that the writer may use.
  [[nodiscard]] std::uint32_t with_writer() const noexcept { return with_writer_; }
  [[nodiscard]] std::uint32_t arrived() const noexcept { return arrived_.size(); }
  [[nodiscard]] std::uint32_t held() const noexcept { return held_; }
  [[nodiscard]] std::uint32_t freed() const noexcept { return freed_.size(); }

  /// An entry has arrived.
  [[nodiscard]] ring_violation arrive(ring_place at, std::uint32_t length) noexcept {
    if (at.slot >= size_) [[unlikely]]
      return ring_violation::unknown_slot;
    if (has_ended_) [[unlikely]]
      return ring_violation::after_end;
    state& which = states_[at.slot];
    if (which.is_here) [[unlikely]]
      return ring_violation::foreign_slot;
    if (which.generation != at.generation) [[unlikely]]
      return ring_violation::old_generation;
    which.is_here = true;
    --with_writer_;
    arrived_.push({.slot = at.slot, .length = length});
    check();
    return ring_violation::none;
  }
  /// Takes the first entry. There must be one.
  [[nodiscard]] ring_arrival take() noexcept {
    ++held_;
    return arrived_.pop();
  }
  /// The program has done with an entry that it took.
  void free(std::uint32_t slot) noexcept {
    --held_;
    freed_.push(slot);
    check();
  }

  /// The writer requests the next acknowledgement.
  void ask() noexcept { is_asked_ = true; }
  /// The writer writes no more entries.
  void end() noexcept { has_ended_ = true; }
  /// Returns true if all entries are taken, and none will come.
  [[nodiscard]] bool is_finished() const noexcept { return has_ended_ && arrived_.empty(); }
  /// Returns true if free slots must be acknowledged: there are enough for a frame, or the writer
  /// waits for them and no entry is left for the program to take.
  [[nodiscard]] bool owes_acknowledgement() const noexcept {
    return freed_.size() >= at_once_ || (arrived_.empty() && !freed_.empty() && is_awaited());
  }
  /// Returns the number of slots that the next acknowledgement names.
  [[nodiscard]] std::uint32_t due() const noexcept { return std::min(freed_.size(), at_once_); }
  /// Gives a free slot to the writer. There must be one.
  [[nodiscard]] ring_place acknowledge() noexcept {
    const std::uint32_t slot = freed_.pop();
    state& which = states_[slot];
    const ring_place named{.slot = slot, .generation = which.generation};
    which = {.generation = static_cast<std::uint8_t>(which.generation + 1), .is_here = false};
    ++with_writer_;
    is_asked_ = false;
    check();
    return named;
  }

 private:
  struct state {
    std::uint8_t generation = 0;
    bool is_here = false;
  };

  [[nodiscard]] bool is_awaited() const noexcept {
    return with_writer_ == 0 || is_asked_ || has_ended_;
  }
  void check() const noexcept {
    if constexpr (hardened(ADVERB_HARDENING_DEBUG))
      require(with_writer_ + arrived() + held_ + freed() == size(), "remote_ring",
              "the reader lost a slot");
  }

  std::uint32_t size_;
  std::vector<state> states_;
  ring_queue<ring_arrival> arrived_;
  ring_queue<std::uint32_t> freed_;
  std::uint32_t at_once_;
  std::uint32_t with_writer_;
  std::uint32_t held_ = 0;
  bool is_asked_ = false;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/ring_slots.ipp>
#endif
