// SPDX-License-Identifier: MIT
// The version, and the inline namespace that carries it.
#pragma once

#define ADVERB_VERSION_MAJOR 0
#define ADVERB_VERSION_MINOR 1
#define ADVERB_VERSION_PATCH 0

// Everything lives in `adverb::inline ADVERB_ABI`. It names the version and whether exceptions are
// on: a program that mixes both modes would otherwise get one body of each inline function for all
// of its translation units, silently.
#if defined(__cpp_exceptions)
#define ADVERB_ABI v0_1
#else
#define ADVERB_ABI v0_1_noexceptions
#endif
