// SPDX-License-Identifier: MIT
// The number of completions that a call takes at a time.
#pragma once

#include <cstddef>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The type of `up_to`.
template <std::size_t Limit>
struct up_to_t {
  static_assert(Limit != 0, "a poll takes at least one completion");
  /// Converts to the number.
  constexpr operator std::size_t() const noexcept { return Limit; }
};

/// Limits a call to this many completions at a time, for both engines:
///
///     queue.poll(up_to<16>, [](const auto& done) { handle(done); });
///
/// The classic queue then polls into an array on the stack.
template <std::size_t Limit>
inline constexpr up_to_t<Limit> up_to{};

}  // namespace adverb::inline ADVERB_ABI
