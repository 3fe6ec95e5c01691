// SPDX-License-Identifier: MIT
// A range of bytes, and the check that it lies inside some memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

struct byte_extent {
  std::uint64_t offset;
  std::size_t length;

  [[nodiscard]] constexpr bool is_inside(std::size_t size) const noexcept {
    return offset <= size && length <= size - offset;
  }
  /// Writes "5 bytes from 60 are not inside the 64 bytes of the region".
  void put_outside(text_writer& writer, std::size_t size, std::string_view of_what) const noexcept {
    // The offset of an address before the memory has wrapped around, so its top bit is set.
    const bool before = offset >> 63 != 0;
    writer.decimal(length).put(" bytes from ").decimal(before ? 0 - offset : offset);
    writer.put(before ? " before its start" : "").put(" are not inside the ");
    writer.decimal(size).put(" bytes of the ").put(of_what);
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
