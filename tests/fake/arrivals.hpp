// SPDX-License-Identifier: MIT
// Completions that arrive at chosen calls of the library, for tests of every interleaving.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "fake.hpp"

/// Has `arrive` called, with a number that counts up, at the start of chosen calls of the library.
template <class Arrive>
class arrivals {
 public:
  arrivals(fake::machine& machine, std::vector<std::size_t> calls, Arrive arrive)
      : calls_{std::move(calls)}, arrive_{std::move(arrive)} {
    const auto advance = [this] {
      ++call_;
      while (next_ < calls_.size() && calls_[next_] <= call_) arrive_(next_++);
    };
    machine.before<fake::called::poll_cq>(advance);
    machine.before<fake::called::req_notify_cq>(advance);
    machine.before<fake::called::get_cq_event>(advance);
  }
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  /// Nothing is called any more: the next completion arrives now. Returns false if there is none.
  bool arrive_asleep() {
    if (next_ == calls_.size()) return false;
    arrive_(next_++);
    return true;
  }

 private:
  std::vector<std::size_t> calls_;
  Arrive arrive_;
  std::size_t call_ = 0;
  std::size_t next_ = 0;
};

/// Calls `visit` with each ascending list of `count` numbers that begins with `chosen` and goes on
/// with numbers up to `last`.
template <class Visit>
void each_continuation(std::vector<std::size_t>& chosen, std::size_t count, std::size_t last,
                       const Visit& visit) {
  if (chosen.size() == count) return visit(chosen);
  for (std::size_t next = chosen.empty() ? 1 : chosen.back(); next <= last; ++next) {
    chosen.push_back(next);
    each_continuation(chosen, count, last, visit);
    chosen.pop_back();
  }
}

/// Calls `visit` with the calls of up to `most` arrivals. The device acts between the calls of the
/// library only, so this covers every interleaving.
template <class Visit>
void each_schedule(std::size_t most, const Visit& visit) {
  constexpr std::size_t most_calls = 12;
  for (std::size_t count = 1; count <= most; ++count) {
    std::vector<std::size_t> chosen;
    each_continuation(chosen, count, most_calls, visit);
  }
}
