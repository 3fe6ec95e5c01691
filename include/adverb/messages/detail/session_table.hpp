// SPDX-License-Identifier: MIT
// The sessions of a listener that wait for requests to resume them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <system_error>
#include <unordered_map>
#include <vector>

#include <adverb/messages/detail/handshake.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class resumable_carrier;

/// Finds the channel of a session. Its channels leave it when they end.
class session_table {
 public:
  session_table() noexcept = default;
  session_table(const session_table&) = delete;
  session_table& operator=(const session_table&) = delete;
  ~session_table() { end(); }

  /// The listener has gone: the broken links of its channels are not replaced any more.
  inline void end() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  /// Returns the channel of a session; null if there is none.
  [[nodiscard]] resumable_carrier* find(std::uint64_t session) const noexcept {
    const auto found = channels_.find(session);
    return found != channels_.end() ? found->second : nullptr;
  }
  /// Adds the channel of a session. Returns false if another one has it.
  [[nodiscard]] bool add(std::uint64_t session, resumable_carrier& which) {
    // The end of a session, which is not to fail, finds its place.
    const std::size_t ends = std::min(finished_.size() + channels_.size() + 1, most_finished);
    if (ends > finished_.capacity()) finished_.reserve(std::min(2 * ends, most_finished));
    return channels_.emplace(session, &which).second;
  }
  /// Removes the channel of a session, but not another one of the same session.
  void remove(std::uint64_t session, const resumable_carrier& which) noexcept {
    const auto found = channels_.find(session);
    if (found != channels_.end() && found->second == &which) channels_.erase(found);
  }
  /// A session has ended in order. The link may have broken before its peer saw that.
  void note_finished(std::uint64_t session) noexcept {
    if (finished_.size() < most_finished) return finished_.push_back(session);
    finished_[oldest_] = session;
    oldest_ = (oldest_ + 1) % most_finished;
  }
  [[nodiscard]] bool has_finished(std::uint64_t session) const noexcept {
    return std::ranges::find(finished_, session) != finished_.end();
  }

 private:
  /// The sessions that have ended in order and are remembered.
  static constexpr std::size_t most_finished = 1024;

  /// Peers choose the numbers. They must not choose those of one bucket.
  struct hash {
    [[nodiscard]] std::size_t operator()(std::uint64_t session) const noexcept {
      std::uint64_t mixed = (session ^ seed) * 0xff51'afd7'ed55'8ccdU;
      mixed = (mixed ^ (mixed >> 32U)) * 0xc4ce'b9fe'1a85'ec53U;
      return std::hash<std::uint64_t>{}(mixed ^ (mixed >> 32U));
    }
    std::uint64_t seed;
  };

  std::unordered_map<std::uint64_t, resumable_carrier*, hash> channels_{
      0, hash{[] {
        std::error_code none;
        return handshake::new_session(none);
      }()}};
  std::vector<std::uint64_t> finished_;
  /// The place of the session that is forgotten next, if there is no other.
  std::size_t oldest_ = 0;
  bool has_ended_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail
