// SPDX-License-Identifier: MIT
// How many completions to take at a time, where that is a constant.
#pragma once

#include <cstddef>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The type of `up_to`.
template <std::size_t Limit>
struct up_to_t {
  static_assert(Limit != 0, "at least one completion has to be taken at a time");
  constexpr operator std::size_t() const noexcept { return Limit; }
};

/// At most this many completions at a time: with it, the completion queues of both engines have the
/// same calls, which hand over each completion by itself.
///
///     queue.poll(up_to<16>, [](const auto& done) { handle(done); });
///
/// What ends such a call by an exception loses, of the classic queue, the completions that were
/// taken with that one; the extended queue keeps them. While the function runs, the extended queue
/// may be locked: see polled_completions.
template <std::size_t Limit>
inline constexpr up_to_t<Limit> up_to{};

}  // namespace adverb::inline ADVERB_ABI
