// SPDX-License-Identifier: MIT
// Shared by both programs: the entries, and the sizes of the ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include <adverb/remote/ring_description.hpp>

#include "../async/steps.hpp"

namespace steps {

/// 64 bytes.
struct record {
  std::uint64_t words[8];
};

inline constexpr std::uint32_t slots = 64;
inline constexpr std::uint32_t batch = 16;
/// Enough for all entries and acknowledgements on the way, so that no batch is split.
inline constexpr std::uint32_t max_sends = 2 * slots;
/// A reader needs two more than the ring has slots; a writer needs six.
inline constexpr std::uint32_t receives = adverb::ring_options{.slots = slots}.receives();
inline constexpr std::uint32_t block_size = 256;

/// Not inline, so that it costs the same in every program.
[[gnu::noinline]] inline void fill(record& entry, std::uint64_t number) noexcept {
  for (std::uint64_t& each : entry.words) each = number++;
}
/// Reads the entry.
[[nodiscard]] inline std::uint64_t value_of(const record& entry) noexcept {
  return entry.words[0] + entry.words[7];
}

/// The sum of the entries. The compiler keeps the reads.
inline std::uint64_t sum = 0;

}  // namespace steps
