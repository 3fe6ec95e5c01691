// SPDX-License-Identifier: MIT
// Heartbeats: counts that the loops of two peers write to each other's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <adverb/async/detail/kept_memory.hpp>
#include <adverb/async/detail/send_slots.hpp>
#include <adverb/async/detail/timer_queue.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class reliable_link;

/// The state machine of a side that listens to heartbeats: looks at the count of the peer in, and
/// whether the peer is dead out. It has no clock and no I/O. Its looks are an interval apart, so a
/// time in which this side does not run, as in a machine that is paused with both sides, is one.
class heartbeat_watch {
 public:
  /// The peer is dead when its count has not changed for so many intervals.
  explicit heartbeat_watch(std::int64_t intervals) noexcept : intervals_{intervals} {}

  /// Notes the count. `is_audible` is false while the requests of the peer cannot arrive, because
  /// no receive is posted for a send that is before them. Returns true if the peer is dead.
  [[nodiscard]] bool look(std::uint64_t count, bool is_audible) noexcept {
    silent_ = count == last_ && is_audible ? silent_ + 1 : 0;
    last_ = count;
    return silent_ >= intervals_;
  }
  /// Returns true if the peer has written a heartbeat.
  [[nodiscard]] bool has_heard() const noexcept { return last_ != 0; }

 private:
  std::int64_t intervals_;
  /// The intervals without a change, which begin at the first look.
  std::int64_t silent_ = -1;
  std::uint64_t last_ = 0;
};

/// The offer of a side to receive heartbeats, in the last bytes of the private data.
struct heartbeat_offer {
  /// In bytes.
  static constexpr std::size_t encoded_size = 32;

  /// Returns the offer of a peer, or nothing if there is none.
  [[nodiscard]] static std::optional<heartbeat_offer> of(const cm::private_data& data) noexcept;
  /// Returns the private data of the program with the offer at the end of `size` bytes. Fails with
  /// EINVAL if there is no room.
  [[nodiscard]] cm::private_data behind(const cm::private_data& data, std::size_t size,
                                        on_failure policy) const;

  /// The memory for the count of the other side.
  remote_buffer<std::byte, access_right::remote_write> count;
  timeout dead_after = timeout::endless();
};

/// The heartbeats of one connection, in both directions.
class heartbeat {
 public:
  heartbeat(reliable_link& of, protection_domain_ref domain, timeout dead_after, on_failure policy);
  heartbeat(const heartbeat&) = delete;
  heartbeat& operator=(const heartbeat&) = delete;
  ~heartbeat() = default;

  /// Returns the offer for the peer.
  [[nodiscard]] heartbeat_offer offer() const;
  /// The connection is established, and the peer has sent its offer. Over iWARP, the accepting side
  /// must not be the first to send, so it `waits_for_peer`.
  void begin(const heartbeat_offer& of_peer, bool waits_for_peer) noexcept;
  /// Returns true if they have begun.
  [[nodiscard]] bool has_peer() const noexcept { return interval_ != 0; }

 private:
  struct count_waiter : room_waiter {
    explicit count_waiter(heartbeat& of) noexcept : room_waiter{&write_with_room}, owner{&of} {}
    heartbeat* owner;
  };
  struct beat_timer : timer {
    explicit beat_timer(heartbeat& of) noexcept : timer{&beat}, owner{&of} {}
    heartbeat* owner;
  };

  static void beat(timer& which);
  static bool write_with_room(async::waiter& which);
  /// Writes the count. Returns false if there is no room.
  [[nodiscard]] bool write_count() noexcept;

  static constexpr std::size_t count_size = sizeof(std::uint64_t);
  /// Places in the memory: the peer writes the first count.
  static constexpr std::size_t count_of_peer = 0;
  static constexpr std::size_t own_count = count_size;

  reliable_link* link_;
  kept_memory memory_;
  std::uint64_t beats_ = 0;
  timeout dead_after_;
  heartbeat_offer peer_;
  heartbeat_watch watch_{0};
  std::int64_t interval_ = 0;
  bool waits_for_peer_ = false;
  beat_timer timer_{*this};
  count_waiter waiter_{*this};
};

}  // namespace adverb::inline ADVERB_ABI::detail
