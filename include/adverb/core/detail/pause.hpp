// SPDX-License-Identifier: MIT
// What a loop that spins tells the processor.
#pragma once

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Tells the processor that this loop waits for something: it saves power, lets the other thread of
/// the core run, and leaves the loop without the penalty of a mispredicted order of loads. Does
/// nothing on processors whose hint is not known here.
inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace adverb::inline ADVERB_ABI::detail
