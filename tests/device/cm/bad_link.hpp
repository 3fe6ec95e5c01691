// SPDX-License-Identifier: MIT
// The link of a guest, made worse by netem.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <adverb/completion/status.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

namespace cm_test {

/// Makes the link of this machine bad: `how` are the options of netem.
inline void make_bad(const std::string& how) {
  expect(in_guest("tc qdisc replace dev $SOFTRDMA_INTERFACE root netem " + how), "the link is bad");
}
inline void make_good() {
  static_cast<void>(in_guest("tc qdisc del dev $SOFTRDMA_INTERFACE root 2>/dev/null"));
}

/// A link that is bad while this object lives.
class bad_link {
 public:
  explicit bad_link(const std::string& how) { make_bad(how); }
  bad_link(const bad_link&) = delete;
  bad_link& operator=(const bad_link&) = delete;
  ~bad_link() { make_good(); }
};

/// A bad link that is worse while this object lives. Other options of netem drop no packet.
class worse_link {
 public:
  explicit worse_link(const std::string& how) { make_bad(how); }
  worse_link(const worse_link&) = delete;
  worse_link& operator=(const worse_link&) = delete;
  ~worse_link() {
    static_cast<void>(in_guest("tc qdisc replace dev $SOFTRDMA_INTERFACE root netem loss 0%"));
  }
};

/// Keeps the hardware addresses of the peers while it lives. If one is resolved again while the
/// link is cut, the packets to it wait, and arrive when the link is good again.
class known_neighbours {
 public:
  known_neighbours() { expect(change("permanent"), "the neighbours are known"); }
  known_neighbours(const known_neighbours&) = delete;
  known_neighbours& operator=(const known_neighbours&) = delete;
  ~known_neighbours() { static_cast<void>(change("stale")); }

 private:
  [[nodiscard]] static bool change(const std::string& to) {
    return in_guest(
        "ip -4 neighbour show dev $SOFTRDMA_INTERFACE | while read -r address rest; do "
        "ip neighbour change $address dev $SOFTRDMA_INTERFACE nud " +
        to + " || exit 1; done");
  }
};

/// A link that loses everything, for a time or until this object dies.
class cut {
 public:
  /// It is cut this long after `begin`.
  explicit cut(std::chrono::milliseconds after,
               std::optional<std::chrono::milliseconds> length = {})
      : thread_{[this, after, length] {
          state_.wait(state::waiting);
          if (state_ == state::over) return;
          std::this_thread::sleep_for(after);
          make_bad("loss 100%");
          if (length)
            std::this_thread::sleep_for(*length);
          else
            state_.wait(state::begun);
          make_bad("loss 0%");
        }} {}
  cut(const cut&) = delete;
  cut& operator=(const cut&) = delete;
  ~cut() {
    state_ = state::over;
    state_.notify_one();
  }

  /// The first call counts.
  void begin() noexcept {
    state expected = state::waiting;
    state_.compare_exchange_strong(expected, state::begun);
    state_.notify_one();
  }

 private:
  enum class state { waiting, begun, over };

  // A packet that is sent while the first queueing discipline replaces another one is not taken,
  // and Soft-RoCE fails its send.
  bad_link prepared_{"loss 0%"};
  std::atomic<state> state_ = state::waiting;
  std::jthread thread_;
};

/// A link that is cut after a time and for a time.
struct short_cut : cut {
  short_cut() : cut{std::chrono::milliseconds{100}, std::chrono::milliseconds{300}} { begin(); }
};

/// A link that is as good as it was.
struct nothing {};

/// Returns true if a connection has ended so because its link was cut for good.
[[nodiscard]] inline bool is_end_by_time(const std::error_code& why) {
  return why == std::errc::timed_out || why == adverb::completion_status::retries_exceeded;
}

/// Loses, repeats, reorders and delays packets.
inline constexpr const char* bad_in_every_way =
    "delay 2ms 1ms loss 0.5% duplicate 1% reorder 25% 50%";

}  // namespace cm_test
