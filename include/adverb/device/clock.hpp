// SPDX-License-Identifier: MIT
// The clock of a device: readings of it.
#pragma once

#include <cstdint>

#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI {

/// A reading of the clock of a device, in its ticks: the timestamp of a completion. Only the
/// difference of two means something.
enum class device_ticks : std::uint64_t {};

[[nodiscard]] constexpr text<24> to_text(device_ticks ticks) noexcept {
  return detail::decimal_text(static_cast<std::uint64_t>(ticks));
}

}  // namespace adverb::inline ADVERB_ABI
