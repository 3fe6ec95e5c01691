// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC static_string<768> text_of_bits(std::uint64_t bits,
                                                              name_of_bit name_of) noexcept {
  return static_string<768>{[&](text_writer& writer) { put_bits(writer, bits, name_of); }};
}

}  // namespace adverb::inline ADVERB_ABI::detail
