// SPDX-License-Identifier: MIT
// Sizes in bytes.
#pragma once

#include <cstddef>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// Returns the bytes of `count` KiB, of 1024 bytes each.
[[nodiscard]] constexpr std::size_t kibibytes(std::size_t count) noexcept { return count << 10; }
/// Returns the bytes of `count` MiB, of 1024 KiB each.
[[nodiscard]] constexpr std::size_t mebibytes(std::size_t count) noexcept { return count << 20; }
/// Returns the bytes of `count` GiB, of 1024 MiB each.
[[nodiscard]] constexpr std::size_t gibibytes(std::size_t count) noexcept { return count << 30; }

}  // namespace adverb::inline ADVERB_ABI
