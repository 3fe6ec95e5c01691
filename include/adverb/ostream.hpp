// SPDX-License-Identifier: MIT
// Stream support: `std::cout << value` for every type that has a `to_text`. Not in the umbrella
// header, because <ostream> is slow to compile.
#pragma once

#include <ostream>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// Writes the text of a value. Applies the stream's width, fill and alignment.
template <has_text T>
std::ostream& operator<<(std::ostream& stream, const T& value) {
  return stream << to_text(value).view();
}

}  // namespace adverb::inline ADVERB_ABI
