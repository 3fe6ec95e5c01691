// SPDX-License-Identifier: MIT
// Checks that run once in a while during a wait: each is made when the wait starts, and called now
// and then; it returns whether to continue. They throw when it is clear that nothing will come.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include "common/patience.hpp"
#include "interruption.hpp"
#include "peer.hpp"

namespace perf {

class waiting_time {
 public:
  [[nodiscard]] bool is_over(std::chrono::seconds limit) const {
    return clock::now() - start_ > limit;
  }

 private:
  using clock = std::chrono::steady_clock;

  clock::time_point start_ = clock::now();
};

/// For a wait for this side's own requests: they complete, with an error if the peer is gone.
class own_patience {
 public:
  bool operator()() const {
    if (interruption::requested() && time_.is_over(std::chrono::seconds{1}))
      interruption::throw_if_requested();
    return true;
  }

 private:
  waiting_time time_;
};

/// For a client that waits for messages of the server.
class client_patience {
 public:
  explicit client_patience(const peer& other) noexcept : peer_{&other} {}

  bool operator()() const {
    if (interruption::requested()) return false;
    // The server sends nothing before the client does, so it is gone.
    if (peer_->has_spoken()) static_cast<void>(peer_->hear());
    if (time_.is_over(examples::patience))
      throw std::runtime_error{"nothing came from the peer for " +
                               std::to_string(examples::patience.count()) +
                               " seconds: a message was lost"};
    return true;
  }

 private:
  const peer* peer_;
  waiting_time time_;
};

/// For a server, which continues until the client reports the end, or is gone.
class server_patience {
 public:
  explicit server_patience(const peer& other) noexcept : peer_{&other} {}

  bool operator()() const {
    interruption::throw_if_requested();
    return !peer_->has_spoken();
  }

 private:
  const peer* peer_;
};

}  // namespace perf
