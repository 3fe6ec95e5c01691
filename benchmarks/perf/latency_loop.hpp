// SPDX-License-Identifier: MIT
// The loop that measures how long each turn takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tick_clock.hpp"

namespace perf {

/// Takes as many turns as there is room for, less one, and leaves in `times` how many ticks each
/// took. Returns how many these are: fewer when nothing more came.
template <class Turns, class MakePatience>
[[nodiscard]] std::size_t take_turns(Turns& turns, std::span<std::uint64_t> times,
                                     const MakePatience& make_patience) {
  const std::size_t wanted = times.size() - 1;
  std::size_t done = 0;
  for (; done < wanted; ++done) {
    times[done] = ticks();
    turns.give();
    if (!turns.take(make_patience)) [[unlikely]]
      break;
  }
  if (done == wanted) times[wanted] = ticks();
  // From one post to the next, as perftest counts it.
  for (std::size_t index = 0; index < done; ++index) times[index] = times[index + 1] - times[index];
  return done;
}

/// Answers each turn of the other side until it is done. Returns how many that were.
template <class Turns, class MakePatience>
[[nodiscard]] std::uint64_t answer_turns(Turns& turns, const MakePatience& make_patience) {
  std::uint64_t done = 0;
  for (; turns.take(make_patience); ++done) turns.give();
  turns.finish();
  return done;
}

}  // namespace perf
