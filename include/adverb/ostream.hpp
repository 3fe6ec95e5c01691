// SPDX-License-Identifier: MIT
// Streams: `std::cout << value` for every type that has a `to_text`. Not part of the umbrella
// header, because of what <ostream> costs to compile.
#pragma once

#include <ostream>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// Writes the text of a value. Width, fill and alignment of the stream apply.
template <has_text T>
std::ostream& operator<<(std::ostream& stream, const T& value) {
  return stream << to_text(value).view();
}

}  // namespace adverb::inline ADVERB_ABI
